"""Results that need no training of an image network: one experiment per file.

An experiment is a class with keyword-only options and one method, `run(seed) -> Outcome`. The same
options and seed give the same outcome, whatever random numbers were drawn before.
"""

import os
from pathlib import Path

from threadpoolctl import threadpool_limits

from dmlbench import registry
from dmlbench.experiments._outcome import Outcome, write_outcome

__all__ = ["Outcome", "available", "build_experiment", "run_experiment", "write_outcome"]


def available() -> tuple[str, ...]:
    """Sorted names of all experiments."""
    return registry.available("experiments")


def build_experiment(name: str, **options):
    """Build an experiment by name.

    Raises:
        UserError: unknown experiment or option, with the near matches, or a bad value.
    """
    return registry.build("experiments", name, **options)


def run_experiment(
    name: str, options: dict, seed: int, *, table: Path, arrays: Path, threads: int
) -> None:
    """Run an experiment for one seed and write what it finds.

    Args:
        name: one of `available()`.
        options: the experiment's keyword-only arguments.
        seed: >= 0.
        table: the Parquet file to write, in the form of `write_outcome`.
        arrays: the npz file to write.
        threads: CPU threads of the process.

    Raises:
        UserError: as `build_experiment`.
    """
    threadpool_limits(threads)
    # Here, because it imports torch.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    write_outcome(build_experiment(name, **options).run(seed), table=table, arrays=arrays)
