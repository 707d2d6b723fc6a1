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
    where = str(folder / "config.yaml")
    plan = Plan(checked(configuration, Configuration, where=where), folder)
    check(plan)
    return plan
