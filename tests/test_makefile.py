"""The Makefile: an environment that was killed, a HOME without a cache, targets that have moved."""

import os
import shutil
import subprocess

import pytest
from dmlbench.command import commands
from project import REPOSITORY

MOVED = {
    "study": "new",
    "network": "add-network",
    "embed": "embed",
    "search": "search",
    "export": "export",
}


@pytest.mark.parametrize("target", MOVED)
def test_a_target_names_its_successor_and_does_nothing(target):
    called = ["make", "--no-print-directory", target, "FOLDER=birds", "FROZEN=1"]
    done = subprocess.run(called, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == f"make {target} is now: .venv/bin/dmlbench {MOVED[target]} --help\n"
    assert MOVED[target] in commands.commands


# Makes an environment as Python does, and ends make where it is told to.
MAKER = """#!/bin/sh
[ "$1" = -m ] && mkdir -p .venv/bin && touch .venv/of-$$ && [ -n "$KILLED" ] && kill -9 $PPID
[ "$1" = -m ] && printf '#!/bin/sh\nexit 0\n' > .venv/bin/pip && chmod +x .venv/bin/pip
[ "$1" = -m ] && cp .venv/bin/pip .venv/bin/uv
exit 0
"""


def test_an_environment_that_was_killed_is_made_again(tmp_path):
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    maker = tmp_path / "python"
    maker.write_text(MAKER)
    maker.chmod(0o755)
    call = ["make", f"PYTHON={maker}", "environment"]
    killed = subprocess.run(call, cwd=tmp_path, env=os.environ | {"KILLED": "1"}, check=False)
    left = list((tmp_path / ".venv").glob("of-*"))
    assert killed.returncode
    assert left
    assert not (tmp_path / ".venv" / "ready").exists()
    subprocess.run(call, cwd=tmp_path, check=True)
    assert (tmp_path / ".venv" / "ready").exists()
    assert not left[0].exists()


@pytest.mark.parametrize("target", ["dry-run", "rehearsal"])
def test_a_home_without_a_cache_is_a_line_that_says_what_to_set(tmp_path, target):
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    programs, blocked = tmp_path / ".venv" / "bin", tmp_path / "file"
    programs.mkdir(parents=True)
    blocked.touch()
    for name in ("python", "snakemake", "dmlbench"):
        (programs / name).write_text("#!/bin/sh\ntouch called\n")
        (programs / name).chmod(0o755)
    made = (".venv/ready", ".venv/bin/dmlbench")
    # Without what a `make test` around this passes on to the calls below it.
    own = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFL"))}

    def make(**environment):
        return subprocess.run(
            ["make", *(f"--old-file={each}" for each in made), target],
            cwd=tmp_path,
            env=own | environment,
            capture_output=True,
            text=True,
        )

    done = make(HOME=str(blocked), XDG_CACHE_HOME="")
    said = f"no folder {blocked}/.cache; set XDG_CACHE_HOME to one you can write to\n"
    assert (done.returncode, done.stdout) == (2, said)
    assert not (tmp_path / "called").exists()
    done = make(HOME=str(blocked), XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "called").exists()
