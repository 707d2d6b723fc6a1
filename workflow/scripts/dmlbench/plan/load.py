"""From files to a checked plan."""

from pathlib import Path

from dmlbench.plan.check import check
from dmlbench.plan.configuration import Configuration
from dmlbench.plan.plan import Plan
from dmlbench.plan.read import checked


def load(configuration: dict, folder: Path) -> Plan:
    """Read and check everything under a configuration folder.

    Args:
        configuration: Snakemake's `config`.
        folder: the folder that holds the catalogues and `studies/`.

    Raises:
        UserError: one line that names file, key and value, and what is allowed.
    """
    plan = reload(configuration, folder)
    check(plan)
    return plan


def reload(configuration: dict, folder: Path) -> Plan:
    """The same in a job of a call whose plan was loaded: rows and views are not checked again.

    A job is about one run; at 100,000 rows the check takes longer than many a job.
    """
    where = str(folder / "config.yaml")
    return Plan(checked(configuration, Configuration, where=where), folder)
