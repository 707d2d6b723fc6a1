"""A whole training, against a plain script with the libraries that everyone uses.

    python benchmarks/training.py                            # all of a CPU: two hours of one core
    python benchmarks/training.py --case omniglot --rounds 1
    python benchmarks/training.py --device cuda              # photographs: minutes of a GPU

One run here (training with its evaluations, embeddings, scores of every query) against a script
that does the same with pytorch-metric-learning's loss, miner, sampler and AccuracyCalculator,
torchvision's transforms and DataLoader, and AdamW (plain_script.py): the same network, images,
batches, iterations and evaluations, one thread. The script decodes the files of images in every
epoch; `packed` is the same script on decoded tensors in memory. `free` replaces the network by one
layer, which leaves what everything else costs.

Each measurement is a process of its own; they take turns. Time is that of the process from its
start, imports included: CPU time, or seconds of the clock on a GPU, where both sides have all cores
and the script's DataLoader eight workers. Memory is its peak beside a GPU's. Not counted: index,
split and packing (ours), extracting the files (theirs), once per data set. Writes
results/benchmarks/training-<device>.json and prints a table.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from machine import machine, peak_memory, slug  # noqa: E402

OURS, SCRIPT, PACKED = "dmlbench", "script", "packed"
SIDES = (OURS, SCRIPT, PACKED)
SPEC = "spec.json"
METRICS = ["recall_at_1", "r_precision", "map_at_r"]
PACKAGES = ["torch", "torchvision", "pytorch-metric-learning", "numpy"]


class Case(NamedTuple):
    """A training: a row of a study, shortened.

    Attributes:
        archives: its files below the folder of data sets; none if its photographs are drawn.
        pixels: what its network takes: side and mode.
        evaluations: how many; between them are `iterations` / `evaluations` iterations.
        network: of the study's rows; None for the first.
        changes: to the row's spec.
    """

    study: str
    archives: tuple[str, ...]
    layout: str
    split: str
    pixels: tuple[int, str]
    iterations: int
    evaluations: int
    network: str | None = None
    changes: Mapping = {}


OMNIGLOT = ("omniglot/images_background.zip", "omniglot/images_evaluation.zip")
GROCERY = ("grocery81/grocery81.zip",)
# torch's own default for the convolutions of a script is TF32.
SCRIPT_LIKE = {"precision": "tf32", "frozen_batchnorm": "none"}
CASES = {
    "omniglot": Case("omniglot", OMNIGLOT, "omniglot", "official", (28, "gray"), 200, 2),
    "grocery": Case("grocery", GROCERY, "grocery", "half", (160, "rgb"), 20, 1),
    "grocery_96": Case("grocery", GROCERY, "grocery", "half", (160, "rgb"), 96, 1),
    "photographs": Case(
        "psomas2020", (), "class_folders", "half", (256, "rgb"), 192, 2, "resnet50", SCRIPT_LIKE
    ),
}
OF_DEVICE = {"cpu": ("omniglot", "grocery", "grocery_96"), "cuda": ("photographs",)}
"""The cases that are measured unless others are asked for."""


def draw_photographs(archive: Path) -> None:
    """JPEG files of 500 x 375 pixels, 50 of each of 40 classes, about as large as CUB's."""
    draw = np.random.default_rng(0)
    with zipfile.ZipFile(archive, "w") as opened:
        for number in range(2000):
            coarse = draw.integers(0, 256, (24, 32, 3), np.uint8)
            picture = Image.fromarray(coarse).resize((500, 375), Image.Resampling.BICUBIC)
            file = io.BytesIO()
            picture.save(file, "JPEG", quality=95)
            opened.writestr(f"{number % 40:02d}/{number}.jpg", file.getvalue())


def prepare(case: Case, data: Path, folder: Path) -> None:
    """Index, split and packed pixels for ours; for theirs, images as files by role and class."""
    from dmlbench.data.archives import Archive
    from dmlbench.data.index import index, read_index
    from dmlbench.data.pack import pack
    from dmlbench.data.split import split
    from dmlbench.training.data import read_roles

    archives = [data / name for name in case.archives]
    if not archives:
        archives = [folder / "photographs.zip"]
        draw_photographs(*archives)
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
    from dmlbench.plan.catalogs.read import read_mapping
    from dmlbench.plan.specs.spec import Spec

    values = read_mapping(REPOSITORY / "config" / "config.yaml") | {"studies": [case.study]}
    planned = plan.load(values, REPOSITORY / "config")
    row = next(
        row
        for row in planned.rows(case.study)
        if row.method == "multi_similarity" and case.network in (None, row.network)
    )
    spec = planned.spec(row).as_dict()
    if not case.archives:
        spec["network"] |= {"weights": None}
    if free:
        spec["network"] |= {"backbone": {"name": "convnet", "widths": [1]}, "weights": None}
    changes = {
        "epochs": case.evaluations,
        "iterations_per_epoch": case.iterations // case.evaluations,
        "evaluate_every": 1,
        "warmup_epochs": 0,
        "schedule": None,
    }
    return Spec.model_validate(spec | changes | case.changes)


def ours(case: Case, spec, folder: Path, weights: Path, device: str) -> dict[str, float]:
    """As the rules train, embed and evaluate do."""
    import pyarrow.parquet as pq
    from dmlbench.evaluation.run_scores import write_scores
    from dmlbench.training.loop import train
    from dmlbench.training.prepared import take_prepared

    threads = 1 if device == "cpu" else os.cpu_count()
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
            device=device,
            threads=threads,
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
        write_scores(embeddings=run / "embeddings", metrics=METRICS, threads=threads, **scores)
        rows = pq.read_table(run / "scores").to_pylist()
    return {row["metric"]: row["value"] for row in rows if row["selection"] == "last_epoch"}


def measure(name: str, side: str, network: str, device: str, folder: Path, weights: Path) -> None:
    """Print a measurement as JSON: the whole of a child process."""
    from dmlbench.plan.specs.spec import Spec

    case = CASES[name]
    spec = Spec.model_validate_json((folder / SPEC).read_text())
    if side == OURS:
        scores = ours(case, spec, folder, weights, device)
    else:
        from plain_script import train

        how = {"pixels": case.pixels, "packed": side == PACKED, "device": device}
        scores = train(spec, folder, weights, **how)
        scores = dict(zip(METRICS, scores, strict=True))
    cpu, peak = time.process_time(), peak_memory() / 1e9
    print(json.dumps({"cpu_s": round(cpu, 2), "peak_gb": round(peak, 2), "scores": scores}))


def child(device: str, *arguments: str) -> dict:
    """What a process measured, and how long it took by the clock."""
    alone = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} if device == "cpu" else {}
    environment, begin = os.environ | alone, time.perf_counter()
    command = [sys.executable, __file__, "--measure", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    seconds = round(time.perf_counter() - begin, 2)
    return json.loads(done.stdout.splitlines()[-1]) | {"wall_s": seconds}


def compared(
    name: str, network: str, device: str, rounds: int, folder: Path, weights: Path
) -> dict:
    """A case's measurements, in turns, and the medians of the ratios."""
    time_s = "cpu_s" if device == "cpu" else "wall_s"
    spec = spec_of(CASES[name], free=network == "free")
    (folder / SPEC).write_text(json.dumps(spec.as_dict()))
    found = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            found[side].append(
                child(device, name, side, network, device, str(folder), str(weights))
            )
            latest = found[side][-1]
            print(
                f"{name:11} {network:5} {side:9} {latest[time_s]:8.1f} {latest['peak_gb']:8.2f}  "
                + " ".join(f"{key} {value:.4f}" for key, value in latest["scores"].items()),
                flush=True,
            )
    ratios = {
        side: statistics.median(
            theirs[time_s] / mine[time_s]
            for mine, theirs in zip(found[OURS], found[side], strict=True)
        )
        for side in SIDES[1:]
    }
    for side, ratio in ratios.items():
        print(f"{name:11} {network:5} {side} takes {ratio:.2f} times the time of {OURS}")
    return {"runs": found, "ratios": ratios, "machine": machine(PACKAGES)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", choices=CASES, help="default: all of the device")
    parser.add_argument("--network", nargs="+", choices=["real", "free"], default=["real", "free"])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=2)
    shared = os.environ.get("DMLBENCH_SHARED", REPOSITORY.parent / "shared")
    parser.add_argument("--data", type=Path, default=Path(shared) / "datasets")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        *what, folder, weights = options.measure
        measure(*what, Path(folder), Path(weights))
        return
    place = slug() if options.device == "cpu" else f"gpu-{slug(torch.cuda.get_device_name())}"
    output = options.output or REPOSITORY / f"results/benchmarks/training-{place}.json"
    names = options.case or OF_DEVICE[options.device]
    for name in names:
        for archive in CASES[name].archives:
            if not (options.data / archive).is_file():
                parser.error(f"--data: {options.data / archive}: no such file")
    from dmlbench.files import atomic_write

    weights = options.data / "weights" / "mobilenet_v2_tf-a3761d30.pth"
    report = json.loads(output.read_text()) if output.exists() else {}
    print(f"{'case':11} {'net':5} {'side':9} {'seconds':>8} {'peak GB':>8}  scores")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            prepare(CASES[name], options.data, Path(folder))
            for network in options.network:
                places = Path(folder), weights
                found = compared(name, network, options.device, options.rounds, *places)
                report.setdefault(name, {})[network] = found
                with atomic_write(output) as path:  # after each: the next may take long
                    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {output}")


if __name__ == "__main__":
    main()
