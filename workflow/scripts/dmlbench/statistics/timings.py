"""What the runs of a study cost."""

import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dmlbench.files import atomic_write


def timings(
    benchmark_files: Mapping[str, Mapping[str, str | os.PathLike]], output: str | os.PathLike
) -> None:
    """Write the cost of each stage of each run, as CSV with run, stage, seconds, max_rss_mb.

    Args:
        benchmark_files: run -> stage -> Snakemake's benchmark file (TSV with columns `s` and
            `max_rss`). Of a repeated benchmark, seconds are the mean and memory is the maximum.
            Seconds are wall-clock, memory is the resident set in MB.
        output: the CSV file to write. A missing file, and a memory that Snakemake could not
            measure because the job was too short, leave empty cells.
    """
    rows = [
        {"run": run, "stage": stage, **_cost(Path(path))}
        for run, stages in benchmark_files.items()
        for stage, path in stages.items()
    ]
    with atomic_write(output) as unfinished:
        frame = pd.DataFrame(rows, columns=["run", "stage", "seconds", "max_rss_mb"])
        frame.to_csv(unfinished, index=False, lineterminator="\n")


def _cost(path: Path) -> dict[str, float | None]:
    if not path.exists():
        return {"seconds": None, "max_rss_mb": None}
    benchmark = pd.read_csv(path, sep="\t", na_values=["-", "NA"])
    return {
        "seconds": round(float(benchmark["s"].mean()), 2),
        "max_rss_mb": benchmark["max_rss"].astype(float).max(),
    }
