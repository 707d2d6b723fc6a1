"""The lines of `snakemake verify`: do the files of a results folder say what they should?

Everything is read from the files and their records (`dmlbench.provenance`), so a copy or a
stranger's folder can be verified, whatever was called there.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from dmlbench import provenance
from dmlbench.errors import DamagedError, UserError
from dmlbench.plan import paths
from dmlbench.plan.costs.progress import OF_IMAGES, Stage, of_study
from dmlbench.plan.records import stale
from dmlbench.plan.records.ran_on import ran_on
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.views import pages
from dmlbench.provenance import Record

_SHOWN = 5
_OWNERS = ("train", "search", "experiment", "aggregate")
"""Rules whose folders have further files: of measures, workers, tables and pages."""
_EARLIER = "recorded by an earlier version, without a checksum of its record"
_OF_ALL = ("audit_all", "agreement_all", "claims_all", "report")
_COMPARED = ("device", "instructions", "threads", "software")
"""What trainings of a study should have in common, of what their histories say."""


@dataclass
class Findings:
    """What is wrong in the files of a study: kind -> lines that name a file.

    Attributes:
        damaged: files that are not those that were written.
        stale: files that the next call would make again: of other code, or from other inputs.
        edited: files that no edit makes again, of other code.
        mixed: rules whose jobs ran different code.
        differ: what the trainings ran on, where it is not the same for all.
        unproven: files without a record.
        missing: number of jobs that are not done.
        files: number of files that were read.
        runs: number of finished jobs on more than images.
    """

    damaged: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    missing: int = 0
    files: int = 0
    runs: int = 0

    @property
    def has_begun(self) -> bool:
        """Whether there is more of the study than the images that it shares with others."""
        return self.runs > 0

    @property
    def is_bad(self) -> bool:
        return bool(self.damaged or self.stale or self.mixed)

    @property
    def verdict(self) -> str:
        """In words: complete or incomplete, and what is wrong."""
        problems = [kind for kind in ("damaged", "stale", "mixed", "edited") if getattr(self, kind)]
        whole = f"incomplete ({self.missing} jobs are missing)" if self.missing else "complete"
        return ", ".join([*problems, whole, *(["partly unproven"] if self.unproven else [])])


def verify(plan: Plan, sources: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Every study: its verdict, and the files that it rests on.

    Args:
        sources: rule -> digest of its code now, for rules whose code does not depend on the job.

    Returns:
        The lines to print, and the studies in which something is damaged, stale or mixed.
    """
    results = plan.configuration.pathvars.results
    lines, bad = [], []
    for study in plan.studies:
        try:
            stages = of_study(plan, study)
        except UserError as error:
            lines.append(f"{study}: cannot be used: {error}")
            continue
        findings = examined(stages, results, sources, pages.files(plan, study))
        if not findings.has_begun:
            continue
        lines += [f"{study}: {findings.verdict}; {findings.files} files read", *_details(findings)]
        bad += [study] * findings.is_bad
    shared = [os.path.join(results, paths.first(rule)) for rule in _OF_ALL]
    findings = examined([], results, sources, shared)
    if findings.files or findings.damaged:
        lines += [
            f"of all studies: {findings.verdict}; {findings.files} files read",
            *_details(findings),
        ]
        bad += ["of all studies"] * findings.is_bad
    return lines, bad


def examined(
    stages: list[Stage], results: str, sources: Mapping[str, str], shown: Iterable[str] = ()
) -> Findings:
    """What is wrong in the files of some jobs.

    Args:
        stages: the jobs.
        results: the folder of results.
        sources: as in `verify`.
        shown: files of pages; it is no fault if they are missing.
    """
    findings, codes = Findings(), {}
    causes: dict[tuple[str, str], list[str]] = {}
    records: dict[str, Record] = {}
    folders = set()
    there = set()
    for stage in stages:
        file = os.path.join(results, stage.output)
        record = provenance.record_of(file)
        if not os.path.lexists(file):
            findings.missing += 1
            continue
        there.add(file)
        findings.runs += stage.rule not in OF_IMAGES
        if record is None:
            findings.unproven.append(file)
        else:
            if record.earlier:
                causes.setdefault(("unproven", _EARLIER), []).append(file)
            records[file] = record
            folders |= {os.path.dirname(file)} if stage.rule in _OWNERS else set()
    for file in shown:
        record = provenance.record_of(file)
        if os.path.lexists(file):
            there.add(file)
        if record is not None and os.path.lexists(file):
            # One job leaves several formats.
            records[os.path.join(os.path.dirname(file), next(iter(record.files)))] = record
    named = {
        os.path.join(os.path.dirname(file), name)
        for file, record in records.items()
        for name in record.files
    }
    named.update(file for folder in folders for file in _recorded_below(folder))
    findings.damaged += stale.damaged_records(sorted(set(map(os.path.dirname, named | there))))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        findings.damaged += [line for line in pool.map(_damage, sorted(named)) if line]
    findings.files = len(named)
    for file, record in records.items():
        for why in _stale(record, results, sources):
            causes.setdefault(("stale", why), []).append(file)
        if modules := stale.changed_modules(record):
            why = f"{record.rule} ran other code of {', '.join(modules)}"
            causes.setdefault(("edited", why), []).append(file)
        for module, code in _codes(record):
            codes.setdefault((record.rule, module), {}).setdefault(code, []).append(file)
    for (kind, why), files in causes.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        getattr(findings, kind).append(f"{files[0]}{more}: {why}")
    for (rule, module), by_code in codes.items():
        if len(by_code) > 1:
            fewest = min(by_code.values(), key=len)
            findings.mixed.append(
                f"{rule} ran {len(by_code)} states of its code{f' of {module}' if module else ''}; "
                f"{len(fewest)} of {sum(map(len, by_code.values()))} files are like {fewest[0]}"
            )
    histories = [
        os.path.join(results, paths.made("train", "history", run=stage.what))
        for stage in stages
        if stage.rule == "train"
    ]
    findings.differ = differences(histories)
    return findings


def differences(histories: list[str]) -> list[str]:
    """A line for each fact in which the machines of trainings differ.

    Args:
        histories: of finished trainings; those that cannot be read or say nothing are left out.
    """
    values: dict[str, Counter[str]] = {}
    for history in histories:
        for key, value in ran_on(history).items():
            values.setdefault(key, Counter())[str(value)] += 1
    return [
        f"{key}: {'; '.join(f'{value} ({count} trainings)' for value, count in counts.items())}"
        for key in _COMPARED
        if len(counts := values.get(key, {})) > 1
    ]


def _recorded_below(folder: str) -> Iterator[str]:
    """The files of a folder, and of those in it, that have a record."""
    for inside, _, _ in os.walk(folder):
        files = (os.path.join(inside, name) for name in provenance.in_folder(inside).by_name)
        yield from filter(os.path.exists, files)


def _damage(file: str) -> str:
    """What is wrong with a file that has a record, and how to make it again; empty if nothing."""
    try:
        provenance.check(file)
    except DamagedError as error:
        # Of records: named once for their folder.
        is_file = os.fspath(error.path) == file
        return f"{error}; {stale.made_again(file)}" if is_file else ""
    except FileNotFoundError:
        return f"{file}: missing; {stale.made_again(file)}"
    except OSError as error:
        return f"{file}: cannot be read ({error.strerror}); {stale.made_again(file)}"
    return ""


def _stale(record: Record, results: str, sources: Mapping[str, str]) -> Iterator[str]:
    """Why a file would be another one now."""
    if record.code == "" and record.rule in sources:
        yield f"the code was edited while {record.rule} ran"
    elif isinstance(record.code, str) and record.code != sources.get(record.rule, record.code):
        yield f"{record.rule} ran other code than there is now"
    if best := stale.is_tuned_otherwise(record, results):
        yield f"took other values than {best} has now"
        return
    for name, known in record.inputs.items():
        # A template is named without its folder, and the report as its template.
        if name in record.files:
            continue
        now = provenance.record_of(os.path.join(results, name))
        if known and now is not None and now.files[os.path.basename(name)] != known:
            yield f"made from another {name}"


def _codes(record: Record) -> list[tuple[str, str]]:
    """Module, empty for a whole stage, and digest of the code of a job."""
    if isinstance(record.code, dict):
        return list(record.code.items())
    # The code that embeds is that of the run's network.
    return [] if record.rule in _OWN_CODE else [("", record.code)]


_OWN_CODE = ("embed", "embed_train")


def _details(findings: Findings) -> Iterator[str]:
    for kind in ("damaged", "stale", "mixed", "edited", "unproven"):
        lines = getattr(findings, kind)
        yield from (f"  {kind:8}  {line}" for line in lines[:_SHOWN])
        if len(lines) > _SHOWN:
            yield f"  {kind:8}  and {len(lines) - _SHOWN} more"
    yield from (f"  differs   {line}" for line in findings.differ)
