"""Where the CPU time of the demo goes: networks, losses and scores, or the start of processes.

    python benchmarks/demo.py      # three minutes on two quiet cores

The demo is made in a copy of the project, and each process says at its end what it used. `start` is
what as many processes use that only import what the rule's script does. Writes
results/benchmarks/demo.json and prints its table.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from limited import call  # noqa: E402
from machine import machine, write_report  # noqa: E402
from planning import copy_project, markdown  # noqa: E402
from process_costs import make  # noqa: E402

WORK = {
    "train": "dmlbench.training.loop",
    "embed": "dmlbench.training.prepared",
    "evaluate": "dmlbench.evaluation.run_scores",
}
"""The scripts of networks, losses and scores -> the module that they import for their work.

The training has computed the embeddings, so that `embed` only takes them.
"""


def start(module: str, repeats: int = 3) -> float:
    """Mean CPU seconds of a process of Snakemake's that imports the module."""
    code = f"""
import sys
import snakemake.script
sys.path.insert(0, "workflow/scripts")
from dmlbench.without_pandas import do_without_pandas
do_without_pandas()
import {module}
"""
    command = [sys.executable, "-c", code]
    return sum(call(command, REPOSITORY).cpu_seconds for _ in range(repeats)) / repeats


def demo() -> dict:
    """CPU seconds of the demo by script, its time, and the share of the work."""
    with tempfile.TemporaryDirectory() as name:
        copy_project(Path(name))
        began = time.perf_counter()
        processes = make(Path(name), ["demo"], cores=os.cpu_count())
        seconds = time.perf_counter() - began
    count = Counter(used.script for used in processes)
    spent = Counter()
    for used in processes:
        spent[used.script] += used.cpu_seconds
    starts = {
        script: min(spent[script], count[script] * start(module)) for script, module in WORK.items()
    }
    rows = [
        {
            "script": script or "Snakemake",
            "processes": count[script],
            "cpu_seconds": cpu_seconds,
            "start": starts.get(script),
        }
        for script, cpu_seconds in spent.most_common()
    ]
    work = sum(spent[script] - starts[script] for script in WORK)
    return {"seconds": seconds, "share": work / spent.total(), "scripts": rows}


def table(report: dict) -> str:
    """The report in Markdown."""
    rows = [list(row.values()) for row in report["scripts"]]
    total = sum(row["cpu_seconds"] for row in report["scripts"])
    share = f"{report['share']:.0%} of {total:.0f} CPU seconds are networks, losses and scores"
    heads = ["script", "processes", "CPU s", "of them start"]
    return f"{markdown(heads, rows)}\n\n{share}; {report['seconds']:.0f} s by the clock."


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    output = REPOSITORY / "results/benchmarks/demo.json"
    parser.add_argument("--output", type=Path, default=output)
    options = parser.parse_args()
    report = {"machine": machine(("snakemake", "torch")), **demo()}
    write_report(options.output, report)
    print(table(report))


if __name__ == "__main__":
    main()
