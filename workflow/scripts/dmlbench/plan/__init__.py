"""Studies -> runs -> paths, checked before any job starts.

Standard library and pydantic only: Snakemake imports this while parsing, so torch and pandas must
not load here.
"""

from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.load import load, load_folder, load_unless_checked, reload
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.run import Run
from dmlbench.plan.specs.spec import Spec

__all__ = ["Plan", "Row", "Run", "Spec", "load", "load_folder", "load_unless_checked", "reload"]
