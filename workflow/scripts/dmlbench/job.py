"""What every rule's script does around its one function call."""

import contextlib
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dmlbench import own_parts, provenance, results_lock
from dmlbench.digits import use_avx2
from dmlbench.errors import DamagedError, UserError
from dmlbench.files import limits_are_named
from dmlbench.garbage import leave_garbage_at_exit
from dmlbench.leavable_stream import LeavableStream

_CHECKED_BY_READERS = ("archives", "pixels", "features")
"""Inputs of many gigabytes, of which a job may need a part: checked by what reads them."""

_COSTLY = ("download", "train", "search", "search_worker")
"""Rules whose damaged files are not removed: a user may have a copy of them."""

_OF_WHAT_IS_THERE = ("agreement_document", "claims_document")
"""Rules that read the scores that there are: without a removed file they would judge fewer."""


class Job:
    """A running job.

    Attributes:
        is_restored: whether its files are those of an earlier job, whose record stays.
    """

    is_restored = False


@contextlib.contextmanager
def job(snakemake) -> Iterator[Job]:
    """Redirect what the block prints to the rule's log; a failure becomes a few lines and status 1.

    SIGTERM ends the block as Ctrl-C does, so that no partial file is left. Inputs are compared with
    their records before, and what the block has written is recorded (`dmlbench.provenance`). A
    damaged input is removed if a rule made it in little time and the same call makes it again.
    """
    leave_garbage_at_exit()
    if snakemake.config.get("same_digits"):
        use_avx2()
    own_parts.use(own_parts.own_folders(snakemake.config.get("own", [])))
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with results_lock.at_work(_results(snakemake)), _logged(snakemake.log):
            _check_inputs(snakemake)
            running = Job()
            yield running
            if snakemake.output and not running.is_restored:
                _record(snakemake)
    except UserError as error:
        advice = _advice(error, snakemake) if isinstance(error, DamagedError) else ""
        _say(f"{error}{advice}", snakemake)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 (the log has the traceback)
        _say(f"{type(error).__name__}: {error}", snakemake)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, previous)


def print_on_terminal(lines: Iterable[str]) -> None:
    """Print what the user asked for, which is no matter of the rule's log."""
    print("\n".join(lines), file=LeavableStream(sys.__stdout__), flush=True)


def _say(why: str, snakemake) -> None:
    """Print to the terminal why a job failed, which one, and where its log is."""
    named = [*snakemake.wildcards.items(), *(("log", path) for path in snakemake.log)]
    which = "".join(f"\n  {name}: {value}" for name, value in named)
    print(f"\ndmlbench {snakemake.rule}: {why}{which}\n", file=sys.stderr)


@contextlib.contextmanager
def _logged(paths: Sequence[str]) -> Iterator[None]:
    """Redirect what is printed, and the block's error, to a rule's log, if it has one."""
    if not paths:
        yield
        return
    path = paths[0]
    with (
        limits_are_named(path),
        open(path, "w", buffering=1, encoding="utf-8") as log,
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


def _check_inputs(snakemake) -> None:
    """Compare the inputs with their records; raises a DamagedError."""
    large = {
        file
        for name, files in snakemake.input.items()
        if name in _CHECKED_BY_READERS
        for file in ([files] if isinstance(files, str) else files)
    }
    for file in snakemake.input:
        if file not in large:
            provenance.check(file)


def _record(snakemake) -> None:
    """Record where the outputs come from, in their folder."""
    results, params = _results(snakemake), dict(snakemake.params.items())
    folder = Path(snakemake.output[0]).parent
    code = params.get("source") or params.get("code") or ""
    record = provenance.Record(
        rule=snakemake.rule,
        files={Path(file).name: provenance.digest(file) for file in snakemake.output},
        inputs=provenance.digests_of_inputs(snakemake.input, results),
        params=provenance.digest_of_params(params),
        code="" if _is_edited(Path(results, results_lock.FILE)) else code,
        place=folder.relative_to(results).as_posix(),
    )
    provenance.write(record, folder)


def _is_edited(started: Path) -> bool:
    """Whether a module of this process was edited after the call planned it.

    Args:
        started: a file that the call wrote when it began.
    """
    if not started.exists():
        return False
    files = [
        module.__file__ for name, module in sys.modules.items() if name.startswith("dmlbench.")
    ]
    return max(Path(file).stat().st_mtime for file in files) > started.stat().st_mtime


def _advice(error: DamagedError, snakemake) -> str:
    """What the user should do about a damaged file; one that is made in little time is removed."""
    if error.path.name == provenance.FILE:
        return f"; {provenance.remedy(error.path)}"
    results = _results(snakemake).resolve()
    damaged = error.path.resolve()
    if not damaged.is_relative_to(results):
        return "; delete it and run again"
    record = provenance.record_of(error.path)
    is_input = damaged in {Path(file).resolve() for file in snakemake.input}
    is_made_again = is_input and snakemake.rule not in _OF_WHAT_IS_THERE
    if is_made_again and (record is None or record.rule not in _COSTLY):
        error.path.unlink()
        return "; it is removed: run again, and it is made again"
    return f"; to make it again: snakemake --cores all --force -- {error.path}"


def _results(snakemake) -> Path:
    return Path(snakemake.config["pathvars"]["results"])
