"""Finished files that would be others now, by what their records say (`dmlbench.provenance`).

Results of cheap stages are made again. Trainings and searches are kept, because an edit of code
often changes no number: they are named.
"""

import functools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dmlbench import own_parts, provenance
from dmlbench.errors import DamagedError, MisplacedError
from dmlbench.plan import paths
from dmlbench.plan.sources import SCRIPTS, stage_digest
from dmlbench.provenance import Record
from dmlbench.words import counted

_NAMED = 3
_BEST = os.path.basename(paths.made("search", "best"))


def difference(
    record: Record, *, inputs: Iterable[str], params: Mapping[str, Any], results: str
) -> tuple[str, str] | None:
    """How a job differs from the one that made its files; None if it does not.

    Args:
        record: of its first file.
        inputs, params: of the job; its code is the parameter `source`.
        results: the folder of results.

    Returns:
        What was different, and what it is now.
    """
    now = Record(
        record.rule,
        record.files,
        provenance.digests_of_inputs(inputs, results, record),
        provenance.digest_of_params(params),
        params["source"],
    )
    for name in ("code", "params", "inputs"):
        before, after = getattr(record, name), getattr(now, name)
        if before != after:
            return f"{name} {before or 'unknown'}", f"{name} {after}"
    return None


def code_of(modules: Iterable[str]) -> dict[str, str]:
    """Module -> digest of its code and of all that it imports.

    Args:
        modules: paths below the library without suffix, such as `losses/margin`.
    """
    return {module: _code_of(module) for module in modules}


def lines(files: Iterable[str], results: str) -> Iterator[str]:
    """What a call says about finished files that stay although they may be others now.

    Args:
        files: a file of each finished job.
        results: the folder of results.
    """
    folders: dict[str, provenance.Records] = {}
    records = {}
    for file in files:
        if file.startswith(f"{results}/"):
            folder, _, name = file.rpartition("/")
            if folder not in folders:
                folders[folder] = provenance.in_folder(folder)
            records[file] = folders[folder].by_name.get(name)
    recorded = {file: record for file, record in records.items() if record is not None}
    unproven = [file for file in records if file not in recorded and os.path.exists(file)]
    yield from damaged_records(folder for folder, known in folders.items() if known.damage)
    yield from _misplaced(recorded)
    yield from _edited(recorded.values())
    yield from _tuned(recorded, results)
    if unproven:
        yield (
            f"{len(unproven)} finished files, such as {unproven[0]}, have no record of what made "
            "them, as before version 0.2: they are used as they are"
        )


def changed_modules(record: Record) -> list[str]:
    """The modules that a job ran and that have other code now; none if they are not recorded."""
    if not isinstance(record.code, dict):
        return []
    return [module for module, known in record.code.items() if known != _code_of(module)]


def is_tuned_otherwise(record: Record, results: str) -> str:
    """The best values of the search that a finished training took, if they are others now.

    Returns:
        Their file, below the results; empty if they are the same, or if there was no search.
    """
    for name, known in record.inputs.items():
        best = os.path.join(results, name)
        if os.path.basename(name) == _BEST and known and os.path.isfile(best):
            return name if provenance.digest(best) != known else ""
    return ""


def damaged_records(folders: Iterable[str]) -> Iterator[str]:
    """A line for each folder with damaged records, and what to do about it."""
    for folder in folders:
        try:
            provenance.check_records(folder)
        except DamagedError as error:
            yield f"{error}; {provenance.remedy(error.path)}"


def _misplaced(recorded: Mapping[str, Record]) -> Iterator[str]:
    for file, record in recorded.items():
        if not provenance.is_in_place(record, file.rpartition("/")[0]):
            yield f"{MisplacedError(file, record.place)}; {made_again(file)}"


def made_again(file: str) -> str:
    """The command that makes a file again."""
    return f"to make it again: snakemake --cores all --force -- {file}"


def _edited(records: Iterable[Record]) -> Iterator[str]:
    jobs: Counter[str] = Counter()
    modules: dict[str, set[str]] = {}
    for record in records:
        changed = changed_modules(record)
        if changed:
            jobs[record.rule] += 1
            modules.setdefault(record.rule, set()).update(changed)
    for rule, count in jobs.items():
        named = sorted(modules[rule])
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        yield (
            f"{counted(count, 'finished job')} of {rule} ran other code of "
            f"{', '.join(named[:_NAMED])}{more}, and stay as they are; if an edit changes numbers, "
            "raise the VERSION of its module"
        )


def _tuned(recorded: Mapping[str, Record], results: str) -> Iterator[str]:
    folders: dict[str, list[str]] = {}
    for file, record in recorded.items():
        if record.rule == "train" and (best := is_tuned_otherwise(record, results)):
            folders.setdefault(best, []).append(os.path.dirname(file))
    for best, runs in folders.items():
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        yield (
            f"{runs[0]}{more} took other values than {best} has now, and stay as they are; to "
            "train them again, remove their folders"
        )


@functools.cache
def _code_of(module: str) -> str:
    # A stranger's record may name anything.
    if not all(map(str.isidentifier, module.split("/"))):
        return ""
    package, _, name = module.rpartition("/")
    library = SCRIPTS / "dmlbench" / f"{module}.py"
    own = [file for file in own_parts.files_of(package) if file.stem == name]
    there = next(filter(os.path.isfile, (library, *own)), None)
    return stage_digest(str(there)) if there else ""
