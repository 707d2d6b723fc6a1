"""Studies -> runs -> paths, checked before any job starts.

Standard library and pydantic only: Snakemake imports this while parsing, so torch and pandas must
not load here.
"""

from dmlbench.plan.load import load, load_folder, load_unless_checked, reload
from dmlbench.plan.plan import Plan
from dmlbench.plan.rows import Row
from dmlbench.plan.run import Run
from dmlbench.plan.spec import Spec

__all__ = ["Plan", "Row", "Run", "Spec", "load", "load_folder", "load_unless_checked", "reload"]
