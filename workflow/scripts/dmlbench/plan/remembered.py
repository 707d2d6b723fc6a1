"""Pure functions of Snakemake that it calls a dozen times per job, computed once."""

import functools

import smart_open
from snakemake import common, rules

PURE = (
    (smart_open, "parse_uri"),
    (common, "get_function_params"),
    (rules, "get_function_params"),
)
"""Where Snakemake looks them up: how to read the path of a script, and which arguments an input
function takes. Measured: a dry run of 12,600 jobs takes 28 s of CPU time instead of 37 s."""


def remember_pure_functions() -> None:
    """Compute each of them once per argument, in this process."""
    for module, name in PURE:
        setattr(module, name, functools.cache(getattr(module, name)))
