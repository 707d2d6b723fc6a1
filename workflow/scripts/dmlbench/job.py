"""What every script of a rule does around its one function call."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import DamagedError, UserError
from dmlbench.files import full_disk_is_a_user_error

# Torch reads it at its first large tensor: with large pages a CPU's step takes a tenth less.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


@contextlib.contextmanager
def job(snakemake) -> Iterator[None]:
    """Send what the block prints to the rule's log; bad input becomes one line and status 1.

    SIGTERM ends the block as Ctrl-C does, so that nothing half-written stays. An input that a crash
    has damaged is removed if a rule has made it: the next call makes it anew.
    """
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _logged(snakemake.log[0]):
            yield
    except UserError as error:
        advice = _removed(error, snakemake) if isinstance(error, DamagedError) else ""
        print(f"\ndmlbench {snakemake.rule}: {error}{advice}\n", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextlib.contextmanager
def _logged(path: str) -> Iterator[None]:
    """Send what is printed, and how the block failed, to a file."""
    with (
        full_disk_is_a_user_error(path),
        open(path, "w", buffering=1) as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            yield
        except UserError as error:
            print(f"error: {error}", file=log)
            raise
        except BaseException:
            traceback.print_exc(file=log)
            raise


def _removed(error: DamagedError, snakemake) -> str:
    """Remove a damaged file that a rule has made; returns what there is to do."""
    results = Path(snakemake.config["pathvars"]["results"]).resolve()
    inputs = {Path(file).resolve() for file in snakemake.input}
    if error.path.resolve() in inputs and error.path.resolve().is_relative_to(results):
        error.path.unlink()
        return "; it is removed: run again, and it is made anew"
    return "; delete it and run again"
