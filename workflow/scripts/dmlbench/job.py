"""What every rule's script does around its one function call."""

import contextlib
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from dmlbench.claims import at_work
from dmlbench.digits import use_avx2
from dmlbench.errors import DamagedError, UserError
from dmlbench.files import full_disk_is_a_user_error
from dmlbench.garbage import leave_garbage_at_exit


@contextlib.contextmanager
def job(snakemake) -> Iterator[None]:
    """Redirect what the block prints to the rule's log; a failure becomes a few lines and status 1.

    SIGTERM ends the block as Ctrl-C does, so that no partial file is left. An input that a crash
    has damaged is removed if a rule made it: the next call makes it again.
    """
    leave_garbage_at_exit()
    if snakemake.config.get("same_digits"):
        use_avx2()
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with at_work(_results(snakemake)), _logged(snakemake.log[0]):
            yield
    except UserError as error:
        advice = _removed(error, snakemake) if isinstance(error, DamagedError) else ""
        _say(f"{error}{advice}", snakemake)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 (the log has the traceback)
        _say(f"{type(error).__name__}: {error}", snakemake)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _say(why: str, snakemake) -> None:
    """Print to the terminal why a job failed, which one, and where its log is."""
    which = "".join(f"\n  {name}: {value}" for name, value in snakemake.wildcards.items())
    print(
        f"\ndmlbench {snakemake.rule}: {why}{which}\n  log: {snakemake.log[0]}\n",
        file=sys.stderr,
    )


@contextlib.contextmanager
def _logged(path: str) -> Iterator[None]:
    """Redirect what is printed, and the block's error, to a file."""
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
    """Remove a damaged file that a rule made; returns what the user should do."""
    results = _results(snakemake).resolve()
    inputs = {Path(file).resolve() for file in snakemake.input}
    if error.path.resolve() in inputs and error.path.resolve().is_relative_to(results):
        error.path.unlink()
        return "; it is removed: run again, and it is made again"
    return "; delete it and run again"


def _results(snakemake) -> Path:
    return Path(snakemake.config["pathvars"]["results"])
