"""Calls of the workflow, each of which is printed."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from dmlbench.errors import UserError

_CHECKOUT = Path(__file__).resolve().parents[4]


def home() -> Path:
    """The folder of the workflow: the working folder if it is one, or that of this library.

    Raises:
        UserError: the library is installed without its workflow.
    """
    for folder in (Path.cwd(), _CHECKOUT):
        if (folder / "Snakefile").is_file() and (folder / "config").is_dir():
            return folder
    raise UserError(
        "this needs the workflow, which an installed package does not have; allowed: in a clone of "
        "the repository. Without it work: score, compare, referee, search, embed, export"
    )


def snakemake() -> str:
    """Snakemake as it is called from the workflow's folder, whether or not it is on the path."""
    program = Path(sys.executable).with_name("snakemake")
    found = shutil.which("snakemake")
    if found and (not program.exists() or Path(found).samefile(program)):
        return "snakemake"
    if not program.exists():
        raise UserError(f"{program}: no such program; allowed after: make environment")
    return os.path.relpath(program, home())


def run(*arguments: str) -> None:
    """Print a call of Snakemake, and make it; its status ends the command if it is not 0.

    Raises:
        UserError: Snakemake cannot make its folder of caches, of which it says nothing in a line.
    """
    _require_cache()
    folder = home()
    said = shlex.join([snakemake(), *arguments])
    said = said if folder == Path.cwd() else f"cd {shlex.quote(str(folder))} && {said}"
    print(f"$ {said}", file=sys.stderr, flush=True)
    done = subprocess.run([snakemake(), *arguments], cwd=folder, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def _require_cache() -> None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    if not os.access(cache, os.W_OK):
        raise UserError(f"no folder {cache}; set XDG_CACHE_HOME to one you can write to")
