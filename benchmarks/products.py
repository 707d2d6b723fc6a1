"""The cost of what follows the runs of a study, from 100 runs to 10,000: ranks, views, pages.

    python benchmarks/products.py                   # 20 minutes
    python benchmarks/products.py --runs 40 100     # three minutes on two quiet cores

Twenty runs on drawn glyphs train. The runs of further seeds are their copies, with scores of their
own. Snakemake then makes every file of the study, one job at a time, and the process of each job
says at its end what it used. CPU seconds count all threads and include the start, about a second.
Writes results/benchmarks/products.json and its table in docs/scaling.md.
"""

import argparse
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from dmlbench import plan, provenance  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan import paths  # noqa: E402
from dmlbench.plan.specs.run import Run  # noqa: E402
from machine import machine, write_report  # noqa: E402
from planning import PAGE, markdown, project  # noqa: E402
from process_costs import make  # noqa: E402

RUNS = (100, 1_000, 10_000)
NOISE = 0.01
"""Standard deviation of a score over seeds."""


def copy_runs(runs: Sequence[Run], results: Path) -> None:
    """Leave the runs of all seeds but the first, copied from it with scores of their own."""
    draw = np.random.default_rng(0)
    trained = {_but_seed(run): run for run in runs if not run.spec.seed}
    for run in runs:
        if not run.spec.seed:
            continue
        source = trained[_but_seed(run)]
        copy = shutil.copytree(results / "runs" / source.folder, results / "runs" / run.folder)
        record = (copy / provenance.FILE).read_text().replace(source.folder, run.folder)
        spec, scores = copy / "spec.yaml", copy / "scores.parquet"
        for path in (spec, scores):
            before, times = provenance.digest(path), path.stat()
            if path is spec:
                path.write_text(path.read_text().replace("seed: 0", f"seed: {run.spec.seed}"))
            else:
                _draw_scores(path, draw)
            record = record.replace(before, provenance.digest(path))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        (copy / provenance.FILE).write_text(record)
        for stage in ("train", "embed", "evaluate"):
            cost = results / paths.cost(stage, run=run.folder)
            cost.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(results / paths.cost(stage, run=source.folder), cost)


def _but_seed(run: Run) -> str:
    return run.folder.rpartition("/seed")[0]


def _draw_scores(path: Path, draw: np.random.Generator) -> None:
    table = pq.read_table(path)
    values = np.asarray(table["value"]) + draw.normal(0, NOISE, len(table))
    column = table.column_names.index("value")
    pq.write_table(table.set_column(column, "value", pa.array(values)), path)


def train(study: plan.Plan, folder: Path) -> None:
    """Train, embed and evaluate the runs of the first seed."""
    first = [run.folder for run in study.runs("scaling") if not run.spec.seed]
    make(folder, [f"results/runs/{run}/scores.parquet" for run in first], cores=os.cpu_count())


def jobs_of(sizes: Sequence[int]) -> list[dict]:
    """One row for each size and job that follows the runs."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        trained = Path(name) / "trained"
        trained.mkdir()
        train(project(trained, min(sizes)), trained)
        for runs in sizes:
            folder = Path(name) / str(runs)
            folder.mkdir()
            study = project(folder, runs)
            # The plan has written its index of these runs already.
            index = (folder / "results" / paths.INDEX_OF_RUNS).read_bytes()
            shutil.copytree(trained / "results", folder / "results", dirs_exist_ok=True)
            (folder / "results" / paths.INDEX_OF_RUNS).write_bytes(index)
            copy_runs(study.runs("scaling"), folder / "results")
            rows += [{"runs": runs, **row} for row in follow(folder)]
            shutil.rmtree(folder)
    return rows


def follow(folder: Path) -> list[dict]:
    """Make every file that follows the runs; one row for each job."""
    jobs = [used for used in make(folder, ["scaling"], cores=1) if used.script]
    for used in jobs:
        print(used, file=sys.stderr, flush=True)
    return [used._asdict() for used in jobs]


def table(rows: list[dict]) -> str:
    """The rows as docs/scaling.md shows them; milliseconds a run are those between two sizes."""
    sizes = sorted({row["runs"] for row in rows})
    found = {(row["script"], row["runs"]): row for row in rows}
    steps = list(itertools.pairwise(sizes))
    heads = ["job", *(f"{size:,} runs, CPU s" for size in sizes)]
    heads += [f"{low:,} to {high:,}: ms a run" for low, high in steps]
    heads += [f"peak MB at {size:,}" for size in sizes[-1:]]
    cells = []
    for job in dict.fromkeys(row["script"] for row in rows):
        seconds = {size: found[job, size]["cpu_seconds"] for size in sizes}
        each = [1000 * (seconds[high] - seconds[low]) / (high - low) for low, high in steps]
        cells.append([job, *seconds.values(), *each, found[job, sizes[-1]]["peak_mb"]])
    return markdown(heads, cells)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=RUNS, help="multiples of 20")
    output = REPOSITORY / "results/benchmarks/products.json"
    parser.add_argument("--output", type=Path, default=output)
    options = parser.parse_args()
    report = {
        "machine": machine(("snakemake", "pandas", "pyarrow", "matplotlib")),
        "jobs": jobs_of(options.runs),
    }
    write_report(options.output, report)
    write_marked(PAGE, "products", table(report["jobs"]))


if __name__ == "__main__":
    main()
