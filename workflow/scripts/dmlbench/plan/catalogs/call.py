"""Checks of the arguments of a Snakemake call, before anything is planned."""

import os
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.configuration import Pathvars
from dmlbench.plan.catalogs.read import checked


def results_folder(config: dict) -> str:
    """The folder of results, which is needed before the plan is made.

    Args:
        config: Snakemake's `config`.

    Raises:
        UserError: it is missing or not allowed.
    """
    where = "config.yaml: pathvars"
    return checked(config.get("pathvars", {}), Pathvars, where=where).results


def check_numbers(cores: int | None, jobs: int | None) -> None:
    """Check `--cores` and `--jobs`, which could make Snakemake wait forever; None if not given.

    Raises:
        UserError: a number below 1.
    """
    for option, number in (("--cores", cores), ("--jobs", jobs)):
        if number is not None and number < 1:
            raise UserError(f"{option} {number}: no job could start; allowed: 1 or more, or all")


_RESULTS = "config.yaml: pathvars.results"


def check_results(folder: str) -> None:
    """Check that a folder can be one of results; it need not exist yet.

    Raises:
        UserError: a file is where the folder should be.
    """
    there = _nearest(folder)
    if not there.is_dir():
        raise UserError(
            f"{_RESULTS}: {folder}: {there} is not a folder; move it, or name another one"
        )


def check_writable(folder: str) -> None:
    """Check that everything below a folder of results can be written.

    What only reads works without: on a snapshot, a backup, a colleague's results.

    Raises:
        UserError: it cannot.
    """
    if not is_writable(folder):
        raise UserError(
            f"{_RESULTS}: {folder}: {_nearest(folder)} cannot be written to; name another folder, "
            "or only look: verify, status, --dry-run"
        )


def is_writable(folder: str) -> bool:
    """Whether files can be written below a folder, which need not exist yet."""
    return os.access(_nearest(folder), os.W_OK | os.X_OK)


def _nearest(folder: str) -> Path:
    """The folder, or the first one above it that exists."""
    path = Path(folder)
    return next(each for each in (path, *path.absolute().parents) if os.path.lexists(each))
