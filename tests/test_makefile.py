"""The targets of the Makefile for a user's own images: every name reaches its program as it is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import REPOSITORY

# Writes its arguments, each ended by the byte that no name has.
PYTHON = r"""#!/bin/sh
printf '%s\0' "$@" > "$ARGUMENTS"
"""
TARGETS = {
    "study": {
        "FOLDER": None,
        "NAME": "--name",
        "NETWORK": "--network",
        "LAYOUT": "--layout",
        "LIST": "--list",
        "LABEL": "--label",
        "BOX": "--box",
        "GROUP": "--group",
    },
    "network": {"MODEL": None, "NAME": "--name", "SIZE": "--size", "WEIGHTS": "--weights"},
    "embed": {"RUN": None, "FOLDER": None, "OUTPUT": "--output", "WEIGHTS": "--weights"},
    "search": {
        "RUN": None,
        "QUERY": None,
        "FOLDER": None,
        "K": "--k",
        "OUTPUT": "--output",
        "WEIGHTS": "--weights",
    },
    "export": {"RUN": None, "KIND": "--kind", "OUTPUT": "--output", "WEIGHTS": "--weights"},
}
"""Target -> its variables, and the option that each becomes; None: a place, in this order."""

NEEDED = {
    target: [key for key, option in variables.items() if option is None]
    for target, variables in TARGETS.items()
}
NAMES = [
    "two  words ",
    "-dash",
    "--help",
    "~/birds",
    "$HOME",
    "$(HOME) ${HOME} $$ $(shell touch made)",
    "`touch made` $(touch made) ; touch made & touch made | touch made > made",
    "it's",
    'the "red" one',
    "back\\slash\\",
    "100% #1 *? [a-b] {x,y} !! ^ = : a=b",
    "comma, (left",
    "right) ",
    "Ümläut 日本",
    os.fsdecode(b"caf\xe9"),
    "line\nbreak",
    "tab\tulator",
    "0",
]
# make takes no blanks before a value, and no program a byte 0.
ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: not name[0].isspace()
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The Makefile, and a Python that writes down its arguments."""
    folder = tmp_path_factory.mktemp("make")
    shutil.copy(REPOSITORY / "Makefile", folder)
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    return folder


def make(folder: Path, target: str, values: dict[str, str], **environment: str):
    """Call a target; the call, and the arguments of its program."""
    arguments = folder / "arguments"
    arguments.unlink(missing_ok=True)
    # Without what a `make test` around this passes on to the calls below it.
    passed_on = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}.union(*TARGETS.values())
    own = {key: value for key, value in os.environ.items() if key not in passed_on}
    done = subprocess.run(
        ["make", "-o", ".venv/ready", target, *(f"{key}={value}" for key, value in values.items())],
        cwd=folder,
        env=own | environment | {"ARGUMENTS": str(arguments)},
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    given = arguments.read_bytes().split(b"\0")[:-1] if arguments.exists() else []
    return done, [os.fsdecode(each) for each in given]


def expected(target: str, values: dict[str, str]) -> tuple[set[str], list[str]]:
    """Options and places that the program is given."""
    options = {f"{option}={values[key]}" for key, option in TARGETS[target].items() if option}
    return options, [values[key] for key in NEEDED[target]]


def split(arguments: list[str]) -> tuple[set[str], list[str]]:
    """Options, and places after `--`; without what names the program."""
    end = arguments.index("--")
    start = next(number for number, each in enumerate(arguments) if each.startswith("--"))
    return set(arguments[start:end]), arguments[end + 1 :]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_reaches_its_program_as_it_is(folder, target, name):
    values = dict.fromkeys(TARGETS[target], name)
    done, arguments = make(folder, target, values)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert split(arguments) == expected(target, values)
    assert not (folder / "made").exists()


@given(names=st.lists(ANY, min_size=6, max_size=6))
def test_any_names_reach_the_search_as_they_are(folder, names):
    values = dict(zip(TARGETS["search"], names, strict=True))
    done, arguments = make(folder, "search", values)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert split(arguments) == expected("search", values)


@pytest.mark.parametrize(
    ("target", "missing"), [(name, key) for name, keys in NEEDED.items() for key in keys]
)
def test_a_name_that_is_not_given_is_asked_for(folder, target, missing):
    others = {key: "x" for key in NEEDED[target] if key != missing}
    for values in (others, others | {missing: ""}):
        done, arguments = make(folder, target, values)
        assert done.returncode == 2
        assert f"{missing}=" in done.stdout
        assert arguments == []


@pytest.mark.parametrize("target", TARGETS)
def test_the_environment_gives_no_name(folder, target):
    """Some systems have a NAME or a GROUP in it: of the machine, of the user."""
    around = dict.fromkeys(TARGETS[target], "of the system")
    values = dict.fromkeys(NEEDED[target], "mine")
    _, arguments = make(folder, target, values, **around)
    assert "of the system" not in "".join(arguments)
    assert arguments[-len(values) :] == list(values.values())


@pytest.mark.parametrize(("values", "options"), [({}, []), ({"FROZEN": "1"}, ["--frozen"])])
def test_a_network_is_frozen_where_that_is_asked_for(folder, values, options):
    _, arguments = make(folder, "study", {"FOLDER": "birds"} | values)
    assert arguments == ["workflow/scripts/new_study.py", *options, "--", "birds"]
