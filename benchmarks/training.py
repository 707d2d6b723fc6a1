"""A whole training, against a plain script with the libraries that everyone uses.

    python benchmarks/training.py                            # all cases: two hours of one core
    python benchmarks/training.py --case omniglot --rounds 1

One run here (training with its evaluations, embeddings, scores of every query) against a script
that does the same with pytorch-metric-learning's loss, miner, sampler and AccuracyCalculator,
torchvision's transforms and DataLoader, and AdamW (plain_script.py): the same network, images,
batches, iterations and evaluations, one thread. The script decodes the files of images in every
epoch; `packed` is the same script on decoded tensors in memory. `free` replaces the network by one
layer, which leaves what everything else costs.

Each measurement is a process of its own; they take turns. CPU time is that of the process from its
start, imports included, and memory its peak. Not counted: index, split and packing (ours),
extracting the files (theirs), once per data set. Writes
results/benchmarks/training-<processor>.json and prints a table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from machine import machine, peak_memory, slug  # noqa: E402

OURS, SCRIPT, PACKED = "dmlbench", "script", "packed"
SIDES = (OURS, SCRIPT, PACKED)
METRICS = ["recall_at_1", "r_precision", "map_at_r"]
PACKAGES = ["torch", "torchvision", "pytorch-metric-learning", "numpy"]


class Case(NamedTuple):
    """A training: a row of a study, shortened.

    Attributes:
        archives: its files below the folder of data sets.
        pixels: what its network takes: side and mode.
        evaluations: how many; between them are `iterations` / `evaluations` iterations.
    """

    study: str
    archives: tuple[str, ...]
    layout: str
    split: str
    pixels: tuple[int, str]
    iterations: int
    evaluations: int


OMNIGLOT = ("omniglot/images_background.zip", "omniglot/images_evaluation.zip")
GROCERY = ("grocery81/grocery81.zip",)
CASES = {
    "omniglot": Case("omniglot", OMNIGLOT, "omniglot", "official", (28, "gray"), 200, 2),
    "grocery": Case("grocery", GROCERY, "grocery", "half", (160, "rgb"), 20, 1),
    "grocery_96": Case("grocery", GROCERY, "grocery", "half", (160, "rgb"), 96, 1),
}


def prepare(case: Case, data: Path, folder: Path) -> None:
    """Index, split and packed pixels for ours; for theirs, images as files by role and class."""
    from dmlbench.data.archives import Archive
    from dmlbench.data.index import index, read_index
    from dmlbench.data.pack import pack
    from dmlbench.data.split import split
    from dmlbench.training.data import read_roles

    archives = [data / name for name in case.archives]
    table, roles = folder / "images.parquet", folder / "split.parquet"
    index(archives, case.layout, table)
    split(table, case.split, roles)
    pack(table, archives, *case.pixels, folder / "pixels.npy", folder / "pixels.parquet")
    opened = {path.name: Archive(path) for path in archives}
    rows = read_index(table).set_index("image_id")
    for role, images in read_roles(table, roles, None).items():
        for image_id in images.ids:
            row = rows.loc[image_id]
            file = folder / role / f"{row.label:05d}" / f"{image_id}{Path(row.member).suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(opened[row.archive].read(row.member))


def spec_of(case: Case, *, free: bool):
    """The spec of both sides: the study's MultiSimilarity with its miner."""
    from dmlbench import plan
    from dmlbench.plan.read import read_mapping
    from dmlbench.plan.spec import Spec

    values = read_mapping(REPOSITORY / "config" / "config.yaml") | {"studies": [case.study]}
    planned = plan.load(values, REPOSITORY / "config")
    row = next(row for row in planned.rows(case.study) if row.method == "multi_similarity")
    spec = planned.spec(row).as_dict()
    if free:
        spec["network"] |= {"backbone": {"name": "convnet", "widths": [1]}, "weights": None}
    changes = {
        "epochs": case.evaluations,
        "iterations_per_epoch": case.iterations // case.evaluations,
        "evaluate_every": 1,
        "warmup_epochs": 0,
        "schedule": None,
    }
    return Spec.model_validate(spec | changes)


def ours(case: Case, spec, folder: Path, weights: Path) -> dict[str, float]:
    """As the rules train, embed and evaluate do."""
    import pyarrow.parquet as pq
    from dmlbench.evaluation.run_scores import write_scores
    from dmlbench.training.loop import train
    from dmlbench.training.prepared import take_prepared

    with tempfile.TemporaryDirectory(dir=folder) as run:
        run = Path(run)
        model, last, prepared = (run / name for name in ("model", "last", "prepared"))
        split = folder / "split.parquet"
        train(
            spec.as_dict(),
            index=folder / "images.parquet",
            split=split,
            pixels=folder / "pixels.npy",
            pixel_table=folder / "pixels.parquet",
            device="cpu",
            threads=1,
            spec_file=run / "spec",
            model=model,
            last=last,
            history=run / "history",
            weights=weights if spec.network.weights else None,
            prepared=prepared,
        )
        made = {"model": model, "last": last, "split": split, "output": run / "embeddings"}
        assert take_prepared(spec.as_dict(), prepared=prepared, **made)
        scores = {"output": run / "scores", "queries": run / "queries"}
        write_scores(embeddings=run / "embeddings", metrics=METRICS, threads=1, **scores)
        rows = pq.read_table(run / "scores").to_pylist()
    return {row["metric"]: row["value"] for row in rows if row["selection"] == "last_epoch"}


def measure(name: str, side: str, network: str, folder: Path, weights: Path) -> None:
    """Print a measurement as JSON: the whole of a child process."""
    case = CASES[name]
    spec = spec_of(case, free=network == "free")
    if side == OURS:
        scores = ours(case, spec, folder, weights)
    else:
        from plain_script import train

        scores = train(spec, folder, weights, pixels=case.pixels, packed=side == PACKED)
        scores = dict(zip(METRICS, scores, strict=True))
    cpu, peak = time.process_time(), peak_memory() / 1e9
    print(json.dumps({"cpu_s": round(cpu, 2), "peak_gb": round(peak, 2), "scores": scores}))


def child(*arguments: str) -> dict:
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    command = [sys.executable, __file__, "--measure", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compared(name: str, network: str, rounds: int, folder: Path, weights: Path) -> dict:
    """A case's measurements, in turns, and the medians of the ratios."""
    found = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            found[side].append(child(name, side, network, str(folder), str(weights)))
            latest = found[side][-1]
            print(
                f"{name:11} {network:5} {side:9} {latest['cpu_s']:8.1f} {latest['peak_gb']:8.2f}  "
                + " ".join(f"{key} {value:.4f}" for key, value in latest["scores"].items()),
                flush=True,
            )
    ratios = {
        side: statistics.median(
            theirs["cpu_s"] / mine["cpu_s"]
            for mine, theirs in zip(found[OURS], found[side], strict=True)
        )
        for side in SIDES[1:]
    }
    for side, ratio in ratios.items():
        print(f"{name:11} {network:5} {side} takes {ratio:.2f} times the CPU time of {OURS}")
    return {"runs": found, "ratios": ratios, "machine": machine(PACKAGES)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--network", nargs="+", choices=["real", "free"], default=["real", "free"])
    parser.add_argument("--rounds", type=int, default=2)
    shared = os.environ.get("DMLBENCH_SHARED", REPOSITORY.parent / "shared")
    parser.add_argument("--data", type=Path, default=Path(shared) / "datasets")
    parser.add_argument(
        "--output", type=Path, default=REPOSITORY / f"results/benchmarks/training-{slug()}.json"
    )
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, side, network, *places = options.measure
        measure(name, side, network, *map(Path, places))
        return
    for name in options.case:
        for archive in CASES[name].archives:
            if not (options.data / archive).is_file():
                parser.error(f"--data: {options.data / archive}: no such file")
    from dmlbench.files import atomic_write

    weights = options.data / "weights" / "mobilenet_v2_tf-a3761d30.pth"
    report = json.loads(options.output.read_text()) if options.output.exists() else {}
    print(f"{'case':11} {'net':5} {'side':9} {'CPU s':>8} {'peak GB':>8}  scores")
    for name in options.case:
        with tempfile.TemporaryDirectory() as folder:
            prepare(CASES[name], options.data, Path(folder))
            for network in options.network:
                found = compared(name, network, options.rounds, Path(folder), weights)
                report.setdefault(name, {})[network] = found
                with atomic_write(options.output) as path:  # after each: the next may take long
                    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
