"""Time and memory of scoring, next to pytorch-metric-learning with faiss, in one run.

    python benchmarks/evaluation.py                  # CUB200 and SOP size
    python benchmarks/evaluation.py --size million   # an hour; --task takes a part
    python benchmarks/evaluation.py --size collapsed_1 collapsed_2 collapsed_10
    ONEDNN_MAX_CPU_ISA=AVX2 python benchmarks/evaluation.py --output FILE  # as on an older CPU

Every measurement is a process of its own, so that its peak memory is its own; the peak counts
everything, the libraries' code (about 0.5 GB with torch) and the embeddings included. What takes
less than two seconds is repeated, and the median counts; imports and a first call on 5,000 images
are timed apart. Both sides cluster with one start and at most 20 iterations, and both use the
OpenBLAS kernels made for this CPU; the library is also timed as it is installed, where OpenBLAS
chooses. Next to them is the time of the product of all pairs in float32, which a search by the
whole product cannot go below.

Embeddings are Gaussian classes with noise of varying strength, recall@1 about 0.7; collapsed ones
are 1, 2 or 10 distinct points. Prints a table and writes results/benchmarks/evaluation-<cpu>.json,
one file per kind of machine, after each measurement, which names its machine, load and commit; the
others keep their numbers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from machine import machine, peak_memory, slug, write_report

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from dmlbench.machine import instructions, openblas_kernels, vendor  # noqa: E402

PACKAGES = ("numpy", "torch", "faiss-cpu", "pytorch-metric-learning")


class Size(NamedTuple):
    """A space: its shape, the noise within classes, and of how many distinct points it is."""

    images: int
    dim: int
    classes: int
    noise: float
    distinct: int | None = None


CUB200, SOP = Size(5_924, 512, 100, 3.0), Size(60_502, 512, 11_316, 2.4)
SIZES = {
    "cub200": CUB200,
    "sop": SOP,
    "million": Size(1_000_000, 128, 100_000, 1.3),
    "collapsed_1": SOP._replace(distinct=1),
    "collapsed_2": SOP._replace(distinct=2),
    "collapsed_10": SOP._replace(distinct=10),
}
THREE = ["recall_at_1", "r_precision", "map_at_r"]
ALL = [
    *(f"recall_at_{k}" for k in (1, 2, 4, 8, 10, 16, 32, 100, 1000)),
    *(f"precision_at_{k}" for k in (2, 4, 8)),
    *("r_precision", "map_at_r", "map_at_r_eq_2_35", "mrr"),
    *("map_at_c", "map_at_1000", "map_at_c_eq_29", "map_at_1000_eq_30"),
]
OURS, THEIRS, PRODUCT = "dmlbench", "pytorch-metric-learning", "float32 product"
AS_INSTALLED = f"{THEIRS}, as installed"
KERNELS = openblas_kernels(vendor(), instructions().split())
BESIDE = [
    (PRODUCT, "pairs"),
    *((OURS, task) for task in ("three", "all", "nmi")),
    *((THEIRS, task) for task in ("three", "nmi")),
    *((AS_INSTALLED, task) for task in ("three", "nmi") if KERNELS),
]
PLAN = {  # size -> (system, task)
    "cub200": BESIDE,
    "sop": BESIDE,
    "million": [(PRODUCT, "pairs"), (OURS, "three"), (OURS, "all")],
    **{size: [(OURS, "three"), (OURS, "all")] for size in SIZES if "collapsed" in size},
}
REPEAT_FOR_S = 2.0
PRODUCT_FOR_S = 60.0
THEIR_NAMES = {
    "precision_at_1": "recall_at_1",
    "r_precision": "r_precision",
    "mean_average_precision_at_r": "map_at_r",
    "NMI": "nmi",
}


def embeddings(size: str):
    """Unit vectors float32 [N, D] and classes int64 [N], the same in every process."""
    import numpy as np

    images, dim, classes, noise, distinct = SIZES[size]
    generator = np.random.default_rng(0)
    extra = generator.integers(0, classes, images - 2 * classes)
    labels = np.concatenate([np.arange(classes), np.arange(classes), extra])
    centers = generator.standard_normal((classes, dim), dtype=np.float32)
    vectors = np.empty((images, dim), np.float32)
    for begin in range(0, images, 50_000):
        part = labels[begin : begin + 50_000]
        strength = noise * np.exp(0.35 * generator.standard_normal((len(part), 1)))
        part = centers[part] + strength * generator.standard_normal((len(part), dim))
        vectors[begin : begin + 50_000] = part / np.linalg.norm(part, axis=1, keepdims=True)
    if distinct:
        vectors = vectors[generator.integers(0, distinct, images)]
    return vectors, labels


def ours(vectors, labels, task: str) -> dict[str, float]:
    from dmlbench.evaluation import evaluate

    metrics = {"three": THREE, "all": ALL, "nmi": ["nmi"]}[task]
    return evaluate(vectors, labels, metrics=metrics).scores


def theirs(vectors, labels, task: str) -> dict[str, float]:
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import FaissKMeans

    names = ("NMI",) if task == "nmi" else tuple(list(THEIR_NAMES)[:3])
    # The fewest neighbors these metrics need: the library's own faster setting.
    calculator = AccuracyCalculator(
        include=names,
        k="max_bin_count",
        device=torch.device("cpu"),
        kmeans_func=FaissKMeans(niter=20, nredo=1),
    )
    found = calculator.get_accuracy(torch.from_numpy(vectors), torch.from_numpy(labels))
    return {THEIR_NAMES[name]: float(value) for name, value in found.items()}


def product(vectors, labels, task: str) -> dict[str, float]:
    """The similarities of all pairs, 4096 rows at a time; after a minute, of a share of them."""
    import torch

    vectors = torch.from_numpy(vectors)
    step = min(4096, max(1, (1 << 28) // len(vectors)))
    out = torch.empty(step, len(vectors))
    begin = time.perf_counter()
    for start in range(0, len(vectors), step):
        rows = vectors[start : start + step]
        torch.mm(rows, vectors.T, out=out[: len(rows)])
        if time.perf_counter() - begin > PRODUCT_FOR_S:
            break
    return {"share": (start + len(rows)) / len(vectors)}


def measure(size: str, system: str, task: str) -> None:
    """Print a measurement as JSON: the whole of a child process."""
    run = {OURS: ours, THEIRS: theirs, AS_INSTALLED: theirs, PRODUCT: product}[system]
    vectors, labels = embeddings(size)
    start = time.perf_counter()
    # Enough images for all that the measured call loads.
    run(vectors[:5000], labels[:5000] % 20, task)
    start = time.perf_counter() - start
    before = peak_memory()
    walls, cpus = [], []
    while sum(walls) < REPEAT_FOR_S:
        wall, cpu = time.perf_counter(), time.process_time()
        scores = run(vectors, labels, task)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    peak = peak_memory()
    share = scores.pop("share", 1.0)
    found = {
        "wall_s": round(statistics.median(walls) / share, 3),
        "cpu_s": round(statistics.median(cpus) / share, 3),
        "runs": len(walls),
        "share": round(share, 4),
        "start_s": round(start, 3),
        "peak_gb": round(peak / 1e9, 3),
        "peak_before_gb": round(before / 1e9, 3),
        "scores": scores,
    }
    print(json.dumps(found))


def measured(size: str, system: str, task: str, threads: int) -> dict:
    """A measurement by a process of its own, with what it was made on."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    if system == AS_INSTALLED:
        environment.pop("OPENBLAS_CORETYPE", None)
    elif KERNELS:
        environment.setdefault("OPENBLAS_CORETYPE", KERNELS)
    facts = machine(PACKAGES) | {"threads": threads}
    command = [sys.executable, __file__, "--measure", size, system, task]
    output = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return json.loads(output.splitlines()[-1]) | {"machine": facts}


def show(size: str, system: str, task: str, found: dict) -> None:
    """Print a row."""
    shown = [name for name in (*THREE, "nmi") if name in found["scores"]]
    print(
        f"{size:12} {system:37} {task:6} {found['wall_s']:9.2f} {found['cpu_s']:9.2f} "
        f"{found['start_s']:8.2f} {found['peak_gb']:8.2f}  "
        + " ".join(f"{name} {found['scores'][name]:.6f}" for name in shown),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", nargs="+", choices=SIZES, default=["cub200", "sop"])
    tasks = sorted({task for plan in PLAN.values() for _, task in plan})
    parser.add_argument("--task", nargs="+", choices=tasks, default=tasks)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--output",
        type=Path,
        default=REPOSITORY / f"results/benchmarks/evaluation-{slug()}.json",
    )
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    chosen = [
        (size, *step) for size in options.size for step in PLAN[size] if step[1] in options.task
    ]
    if not chosen:
        parser.error(f"--task: none of {options.task} is measured at --size {options.size}")
    report = json.loads(options.output.read_text()) if options.output.exists() else {}
    columns = f"{'wall s':>9} {'CPU s':>9} {'start s':>8} {'peak GB':>8}"
    print(f"{'size':12} {'system':37} {'task':6} {columns}  scores")
    for size, system, task in chosen:
        found = measured(size, system, task, options.threads)
        show(size, system, task, found)
        report.setdefault(size, {}).setdefault(system, {})[task] = found
        write_report(options.output, report)  # after each: the next may take long
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
