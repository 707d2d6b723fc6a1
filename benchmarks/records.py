"""The cost of records in studies of many finished runs, and of `verify`.

    python benchmarks/records.py          # 1,000 runs
    python benchmarks/records.py 10000    # a minute and a gigabyte of disk

Runs are pretended, in a temporary folder. Prints the CPU time that a call which finds everything
done spends on records, per run (the best of five), and the CPU seconds of `verify`.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from dmlbench import provenance
from dmlbench.plan.costs.progress import of_study
from dmlbench.plan.records import stale
from limited import call
from machine import machine
from planning import VERIFY, calls, project
from pretended import pretend_recorded

REPEATS = 5
ASKED = 4
"""How often Snakemake asks for the record of a job: twice for metadata, for inputs and params."""


def compare(files: list[str], results: str) -> None:
    """Compare finished jobs with their records, as a call does for each, and list what stays."""
    for file in files:
        for _ in range(ASKED):
            record = provenance.record_of(file)
        provenance.is_in_place(record, file.rpartition("/")[0])
        inputs = [f"{results}/{name}" for name in record.inputs]
        stale.difference(record, inputs=inputs, params={"source": record.code}, results=results)
    list(stale.lines(files, results))


def cpu_seconds(work: Callable[[], None]) -> float:
    """The least CPU time of a few repeats, none of which finds what an earlier one has read."""
    spent = []
    for _ in range(REPEATS):
        provenance._parsed.cache_clear()
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=int, nargs="?", default=1_000, help="a multiple of 20")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = project(folder, options.runs)
        pretend_recorded(folder, study)
        results = str(folder / "results")
        stages = dict.fromkeys(of_study(study, "scaling"))
        files = [f"{results}/{stage.output}" for stage in stages]
        spent = cpu_seconds(lambda: compare(files, results))
        verified = call(calls(study)[VERIFY], folder)
    print(machine(("snakemake",)))
    print(f"records: {1e6 * spent / options.runs:.0f} microseconds of CPU per run")
    print(f"verify: {verified.cpu_seconds:.1f} CPU seconds, {verified.seconds:.1f} seconds")


if __name__ == "__main__":
    main()
