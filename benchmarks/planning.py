"""The cost of planning, scheduling and storing runs, from 100 runs to 100,000.

    python benchmarks/planning.py                     # about an hour on a quiet machine
    python benchmarks/planning.py --runs 100 1000     # five minutes
    python benchmarks/planning.py --account NAME      # with the Slurm of this machine
    python benchmarks/planning.py --results FOLDER    # whose finished runs are measured

Studies of these sizes (ten losses, two embedding sizes, seeds) are planned in separate folders,
each call in a separate process that is ended at ten minutes of CPU time, 15 minutes or 10 GB; an
ended call is not made at a larger size. CPU seconds count all threads; other load affects them less
than seconds. Writes results/benchmarks/planning.json and its tables in docs/scaling.md.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from dmlbench import plan  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan import paths  # noqa: E402
from dmlbench.plan.graph.index import RunIndex  # noqa: E402
from limited import CPU_LIMIT, MB, MEMORY_LIMIT, SECONDS_LIMIT, SNAKEMAKE, call  # noqa: E402
from machine import machine, write_report  # noqa: E402
from pretended import pretend_done, pretend_recorded  # noqa: E402
from scheduling import schedule_jobs  # noqa: E402
from storage import estimate_run, weigh_runs  # noqa: E402

PAGE = REPOSITORY / "docs" / "scaling.md"
RUNS = (100, 1_000, 10_000, 100_000)
RUNS_A_BATCH = 1_000
DONE, TOUCH = "all, everything done", "all, `--touch --forceall`"
VERIFY = "`verify`"
# Test images of the data sets' official halves.
EMBEDDED = {"cub200": 5_924, "cars196": 8_131, "sop": 60_502}
METHODS = (
    *("contrastive", "triplet", "lifted_structure", "n_pair", "proxy_nca", "margin"),
    *("arcface", "multi_similarity", "soft_triple", "proxy_anchor"),
)
LOAD = """
import sys, yaml
sys.path.insert(0, "workflow/scripts")
from pathlib import Path
from dmlbench import plan
plan.load(yaml.safe_load(Path("config/config.yaml").read_text()), Path("config"))
"""


def copy_project(folder: Path) -> None:
    """Copy what a call needs into a folder, without results."""
    for name in ("Snakefile", "rules", "workflow", "config", "profiles", "envs"):
        source = REPOSITORY / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)


def project(folder: Path, runs: int) -> plan.Plan:
    """A copy of the project with one study, `scaling`, of a number of runs; returns its plan."""
    copy_project(folder)
    sizes = [16, 64]
    grid = {
        **{"dataset": "glyphs", "network": "convnet3", "recipe": "glyphs", "split": "half"},
        **{"method": list(METHODS), "embedding_dim": sizes},
        "seed": list(range(runs // (len(METHODS) * len(sizes)))),
    }
    kind = {"name": "scores_by_method", "metrics": ["recall_at_1"]}
    study = {
        **{"title": "Scaling", "question": "How far?", "description": "Many runs."},
        **{"runs": [grid], "tournament": {}, "tables": {"recall": {"title": "", "kind": kind}}},
        "figures": {"sizes": {"title": "", "kind": "recall_by_embedding_dim"}},
    }
    (folder / "config/studies/scaling.yaml").write_text(yaml.safe_dump(study))
    configuration = yaml.safe_load((folder / "config/config.yaml").read_text())
    configuration["studies"] = ["scaling"]
    (folder / "config/config.yaml").write_text(yaml.safe_dump(configuration))
    found = plan.load(configuration, folder / "config")
    # The file that a submitting call writes for its jobs.
    (folder / "results").mkdir()
    RunIndex(found, folder / "results" / paths.INDEX_OF_RUNS, fresh=True).write()
    return found


def calls(study: plan.Plan) -> dict[str, list[str]]:
    """Name of a row -> call; the last three with everything done."""
    runs = study.runs("scaling")
    batches = max(1, len(runs) // RUNS_A_BATCH)
    quiet = [*SNAKEMAKE, "--dry-run", "--quiet", "all"]
    touch = [*SNAKEMAKE, "--touch", "--forceall", "--quiet", "all", "--cores", "1000"]
    job = ["--mode", "remote", "--allowed-rules", "train", "--force", "--nolock", "--cores", "1"]
    job += ["--target-jobs", f"train:run={runs[-1].folder}"]
    batch = ["--batch", f"aggregate=1/{batches}", "--", "results/studies/scaling/scores.parquet"]
    return {
        "plan.load": [sys.executable, "-c", LOAD],
        "one run": [*quiet, "--", f"results/runs/{runs[-1].folder}/scores.parquet"],
        "a job of a cluster": [*quiet, *job],
        f"a batch of {min(RUNS_A_BATCH, len(runs)):,}": [*quiet, *batch],
        "all": [*quiet, "--", "scaling"],
        DONE: [*quiet, "--", "scaling"],
        TOUCH: [*touch, "--", "scaling"],
        VERIFY: [*SNAKEMAKE, "--quiet", "all", "--cores", "all", "--", "verify"],
    }


def plan_studies(sizes: Sequence[int], chosen: Sequence[str] | None) -> list[dict]:
    """One row for each size and call; all calls where none are chosen."""
    rows, ended = [], {}
    for runs in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            study = project(folder, runs)
            for what, command in calls(study).items():
                if chosen and what not in chosen:
                    continue
                row = {"runs": runs, "call": what}
                if what in ended:
                    row["ended"] = f"not tried, see {ended[what]:,} runs"
                else:
                    if what == DONE:
                        pretend_done(folder, study)
                    if what == VERIFY:
                        row["read_mb"] = pretend_recorded(folder, study) / MB
                    row |= call(command, folder)._asdict()
                    if row["ended"]:
                        ended[what] = runs
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
    return rows


def merged(earlier: list[dict], rows: list[dict]) -> list[dict]:
    """The rows of an earlier report, those that were measured again with their commit and load."""
    now = machine(())
    measured = {(row["runs"], row["call"]) for row in rows}
    kept = [row for row in earlier if (row["runs"], row["call"]) not in measured]
    own = {"commit": now["commit"], "load_before": now["load_before"]}
    found = [*kept, *(row | own for row in rows)]
    return sorted(found, key=lambda row: row["runs"])


def markdown(heads: list[str], rows: list[list]) -> str:
    """A table; floats get as many decimals as they need."""

    def text(value) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
        return "" if value is None else f"{value:,}" if isinstance(value, int) else value

    cells = [heads, ["---"] * len(heads), *([text(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def tables(report: dict) -> str:
    """The report as docs/scaling.md shows it."""
    spent = ("cpu_seconds", "seconds", "peak_mb")
    planning = [
        [row["runs"], row["call"], *(row.get(key) for key in spent), row.get("ended")]
        for row in report["planning"]
    ]
    keys = ("where", "jobs", "cpu_seconds_a_job", "seconds_a_job", "seconds_in_a_job")
    scheduling = [[row.get(key) for key in keys] for row in report["scheduling"]]
    keys = ("what", "weights_mb", "embeddings_mb", "all_mb")
    storage = [
        [*(row[key] for key in keys), f"{row['runs']} runs" if row["runs"] else "computed"]
        for row in report["storage"]
    ]
    return "\n\n".join(
        (
            markdown(["runs", "planned", "CPU seconds", "seconds", "peak MB", ""], planning),
            markdown(["where", "jobs", "CPU seconds", "seconds", "seconds in Slurm"], scheduling),
            markdown(["a run", "weights, MB", "embeddings, MB", "all, MB", ""], storage),
        )
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=RUNS, help="multiples of 20")
    parser.add_argument(
        "--calls",
        nargs="+",
        help="measure these alone, as 'a job of a cluster'; the file's other rows stay",
    )
    parser.add_argument("--account", help="what jobs on the Slurm are charged to; none for no jobs")
    parser.add_argument("--results", type=Path, nargs="+", default=[REPOSITORY / "results"])
    output = REPOSITORY / "results/benchmarks/planning.json"
    parser.add_argument("--output", type=Path, default=output)
    options = parser.parse_args()
    report = {
        "machine": machine(("snakemake", "pydantic")),
        "limits": {"cpu_s": CPU_LIMIT, "s": SECONDS_LIMIT, "bytes": MEMORY_LIMIT},
        "planning": plan_studies(options.runs, options.calls),
        "scheduling": [],
        "storage": [],
    }
    if options.calls:
        earlier = json.loads(options.output.read_text()) if options.output.exists() else report
        report["planning"] = merged(earlier["planning"], report["planning"])
        report = earlier | {"planning": report["planning"]}
    else:
        report["scheduling"] = schedule_jobs(options.account)
        report["storage"] = weigh_runs(options.results) + estimate_run("resnet50", 512, EMBEDDED)
    write_report(options.output, report)
    write_marked(PAGE, "planning", tables(report))


if __name__ == "__main__":
    main()
