"""What the runs of a study cost."""

import csv
import os
import statistics
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dmlbench.files import write_csv

_UNKNOWN = ("-", "NA")
"""What Snakemake writes for a memory that it could not measure."""


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
    columns = ["run", "stage", "seconds", "max_rss_mb"]
    write_csv(output, pd.DataFrame(rows, columns=columns))


def _cost(path: Path) -> dict[str, float | None]:
    if not path.exists():
        return {"seconds": None, "max_rss_mb": None}
    # Three of these files per run: pandas takes over twenty times as long.
    with path.open(newline="", encoding="utf-8") as file:
        repeats = list(csv.DictReader(file, delimiter="\t"))
    memory = [float(repeat["max_rss"]) for repeat in repeats if repeat["max_rss"] not in _UNKNOWN]
    return {
        "seconds": round(statistics.fmean(float(repeat["s"]) for repeat in repeats), 2),
        "max_rss_mb": max(memory, default=None),
    }
