"""What a head on frozen features costs, in all processes, and how much of it is arithmetic.

    python benchmarks/heads.py                      # ten minutes of a core
    python benchmarks/heads.py --against 8455821b   # and the same by the code of a commit, in turn

Nine losses train heads of 128 dimensions, 1,000 iterations of 128, on 11,700 features of 1,280
dimensions that are drawn in 200 classes, half of which test: the work of a head on birds. Each
process says at its end what it used. The matrix products of a linear layer are timed alone, in a
loop. Writes results/benchmarks/heads.json and prints its table.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import torch  # noqa: E402
import yaml  # noqa: E402
from machine import machine, write_report  # noqa: E402
from planning import markdown  # noqa: E402
from process_costs import make  # noqa: E402

IMAGES, CLASSES, FEATURES, DIMENSIONS = 11_700, 200, 1280, 128
ITERATIONS, BATCH = 1000, 128
LOSSES = [
    "contrastive",
    "triplet",
    "lifted_structure_code",
    "n_pair_scaled",
    "proxy_nca",
    "margin",
    "arcface",
    "multi_similarity",
    "proxy_anchor",
]
STAGES = ("train", "embed", "evaluate")


def write_features(file: Path) -> None:
    """Drawn features of drawn classes, as another program would give them."""
    generator = np.random.default_rng(0)
    labels = np.arange(IMAGES) % CLASSES
    centers = generator.normal(size=(CLASSES, FEATURES))
    vectors = (generator.normal(size=(IMAGES, FEATURES)) + centers[labels]).astype("float32")
    columns = {
        "id": [f"image {number}" for number in range(IMAGES)],
        "label": [f"class {label:03}" for label in labels],
        "vector": list(vectors),
    }
    pq.write_table(pa.table(columns), file)


def prepare(project: Path, features: Path) -> None:
    """A study of the heads in a clone of the project, and all that it needs before training."""
    new = [sys.executable, "-m", "dmlbench", "new", str(features), "--name", "drawn"]
    environment = {"PYTHONPATH": "workflow/scripts", "PATH": str(Path(sys.executable).parent)}
    subprocess.run(new, cwd=project, env=environment, check=True, capture_output=True)
    file = project / "own/drawn/studies/drawn.yaml"
    study = yaml.safe_load(file.read_text())
    study["runs"] = [
        {
            **{"dataset": "drawn", "network": "given", "embedding_dim": DIMENSIONS},
            **{"method": LOSSES, "recipe": "heads", "split": "half", "seed": 0},
        }
    ]
    kept = {key: study[key] for key in ("title", "question", "description", "runs", "tournament")}
    file.write_text(yaml.safe_dump(kept, sort_keys=False))


def heads(project: Path) -> dict[str, float]:
    """CPU seconds of a head by stage."""
    spent = Counter()
    for used in make(project, ["drawn"], cores=1):
        spent[used.script] += used.cpu_seconds
    return {stage: spent[stage] / len(LOSSES) for stage in STAGES}


def measure(commits: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """What a head costs by the code of each commit: medians of rounds, the commits in turn."""
    measured = {commit: [] for commit in commits}
    with tempfile.TemporaryDirectory() as name:
        features = Path(name) / "features.parquet"
        write_features(features)
        for number, commit in itertools.product(range(rounds), commits):
            project = Path(name) / f"{commit}-{number}"
            for git in (
                ["clone", "-q", REPOSITORY, project],
                ["-C", project, "checkout", "-q", commit],
            ):
                subprocess.run(["git", *git], check=True)
            prepare(project, features)
            measured[commit].append(heads(project))
    return {
        commit: {stage: statistics.median(each[stage] for each in costs) for stage in STAGES}
        for commit, costs in measured.items()
    }


def matrix_products() -> float:
    """CPU seconds of the products that a linear layer takes, forward and backward."""
    torch.set_num_threads(1)
    images = torch.randn(BATCH, FEATURES)
    weight, gradient = torch.randn(DIMENSIONS, FEATURES), torch.randn(BATCH, DIMENSIONS)
    began = time.process_time()
    for _ in range(ITERATIONS):
        images @ weight.T
        gradient.T @ images
    return time.process_time() - began


def table(report: dict) -> str:
    """The report in Markdown."""
    rows = [
        [commit, *costs.values(), sum(costs.values()), round(3600 / sum(costs.values()))]
        for commit, costs in report["heads"].items()
    ]
    heads = ["commit", *(f"{stage}, CPU s" for stage in STAGES), "all", "heads per CPU hour"]
    products = f"{report['matrix_products']:.1f} CPU s of each training are matrix products."
    return f"{markdown(heads, rows)}\n\n{products}"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", help="another commit, measured in turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=REPOSITORY / "results/benchmarks/heads.json")
    options = parser.parse_args()
    here = machine(("snakemake", "torch"))
    commits = [options.against] if options.against else []
    commits.append(here["commit"].removesuffix("-dirty"))
    report = {
        "command": " ".join(["python", "benchmarks/heads.py", *sys.argv[1:]]),
        "machine": here,
        "heads": measure(commits, options.rounds),
        "matrix_products": matrix_products(),
    }
    write_report(options.output, report)
    print(table(report))


if __name__ == "__main__":
    main()
