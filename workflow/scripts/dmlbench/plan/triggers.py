"""What makes Snakemake run a finished job again: the records of its files, where there are any.

Snakemake compares a job's parameters with those in `.snakemake` of the working folder, which
another clone does not have. It has no interface for another source, so four methods are replaced,
for all kinds of its storage.
"""

from collections.abc import Callable

from snakemake.persistence import NO_PARAMS_CHANGE, ParamsChange, PersistenceBase

from dmlbench import provenance
from dmlbench.plan import stale
from dmlbench.provenance import Record


def trust_records(results: str) -> None:
    """Let Snakemake compare jobs with the records of their files, in this process.

    Jobs whose files have no record are compared with what `.snakemake` says, if it knows them, and
    so are parameters of stages without the digest of their code, such as a download's.

    Args:
        results: the folder of results.
    """

    def replace(name: str, by_record: Callable) -> None:
        original = getattr(PersistenceBase, name)

        def replaced(self, job, *file):
            record = _record(job, results)
            return original(self, job, *file) if record is None else by_record(job, record)

        setattr(PersistenceBase, name, replaced)

    compared = PersistenceBase.params_changed

    def changed(self, job, *file) -> ParamsChange:
        record, params = _record(job, results), dict(job.params.items())
        if record is None or "source" not in params:
            return compared(self, job, *file)
        inputs = map(str, job.input)
        differs = stale.difference(record, inputs=inputs, params=params, results=results)
        if differs is None:
            return NO_PARAMS_CHANGE
        before, now = differs
        return ParamsChange(only_old={before}, only_new={now}, files=set(job.output))

    replace("has_metadata", lambda job, record: True)
    replace("has_outdated_metadata", lambda job, record: False)
    replace("input_changed", lambda job, record: ())
    PersistenceBase.params_changed = changed


def _record(job, results: str) -> Record | None:
    """The record of a job's first file."""
    file = str(job.output[0]) if job.output else ""
    return provenance.record_of(file) if file.startswith(f"{results}/") else None
