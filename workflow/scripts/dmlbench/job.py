"""What every script of a rule does around its one function call."""

import contextlib
import sys
from collections.abc import Iterator

from dmlbench.errors import UserError


@contextlib.contextmanager
def job(snakemake) -> Iterator[None]:
    """Send what the block prints to the rule's log; bad input becomes one line and status 1."""
    terminal = sys.stderr
    with (
        open(snakemake.log[0], "w", buffering=1) as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            yield
        except UserError as error:
            print(f"error: {error}", file=log)
            print(f"\ndmlbench {snakemake.rule}: {error}\n", file=terminal)
            sys.exit(1)
