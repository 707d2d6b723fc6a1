"""Checks of the arguments of a Snakemake call, before anything is planned."""

import os
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.configuration import Pathvars
from dmlbench.plan.read import checked


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


def check_results(folder: str) -> None:
    """Check that everything below a folder can be written; it need not exist yet.

    Raises:
        UserError: a file is where the folder should be, or it cannot be written to.
    """
    where = "config.yaml: pathvars.results"
    path = Path(folder)
    there = next(each for each in (path, *path.absolute().parents) if os.path.lexists(each))
    if not there.is_dir():
        raise UserError(f"{where}: {folder}: {there} is not a folder; move it, or name another one")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{where}: {folder}: {there} cannot be written to; name another folder")
