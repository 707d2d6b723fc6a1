"""Time and memory of scoring, beside pytorch-metric-learning with faiss, in one run.

    python benchmarks/evaluation.py                       # CUB200 and SOP size
    python benchmarks/evaluation.py --size cub200 sop million

Every measurement is a process of its own, so that its peak memory is its own; the peak counts
everything, the libraries' code (about 0.5 GB with torch) and the embeddings included. Embeddings
are Gaussian classes with noise of varying strength, recall@1 about 0.7. Writes
results/benchmarks/evaluation.json and prints a table.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

SIZES = {  # images, dimensions, classes, noise
    "cub200": (5_924, 512, 100, 3.0),
    "sop": (60_502, 512, 11_316, 2.4),
    "million": (1_000_000, 128, 100_000, 1.3),
}
THREE = ["recall_at_1", "r_precision", "map_at_r"]
ALL = [
    *(f"recall_at_{k}" for k in (1, 2, 4, 8, 10, 16, 32, 100, 1000)),
    *(f"precision_at_{k}" for k in (2, 4, 8)),
    *("r_precision", "map_at_r", "map_at_r_eq_2_35", "mrr"),
    *("map_at_c", "map_at_1000", "map_at_c_eq_29", "map_at_1000_eq_30"),
]
OURS, THEIRS = "dmlbench", "pytorch-metric-learning"
PLAN = {  # size -> (system, task)
    "cub200": [(OURS, "three"), (OURS, "all"), (OURS, "nmi"), (THEIRS, "three"), (THEIRS, "nmi")],
    "sop": [(OURS, "three"), (OURS, "all"), (OURS, "nmi"), (THEIRS, "three"), (THEIRS, "nmi")],
    "million": [(OURS, "three"), (OURS, "all")],
}
THEIR_NAMES = {
    "precision_at_1": "recall_at_1",
    "r_precision": "r_precision",
    "mean_average_precision_at_r": "map_at_r",
    "NMI": "nmi",
}


def embeddings(size: str):
    """Unit vectors float32 [N, D] and classes int64 [N], the same in every process."""
    import numpy as np

    images, dim, classes, noise = SIZES[size]
    generator = np.random.default_rng(0)
    extra = generator.integers(0, classes, images - 2 * classes)
    labels = np.concatenate([np.arange(classes), np.arange(classes), extra])
    centres = generator.standard_normal((classes, dim), dtype=np.float32)
    vectors = np.empty((images, dim), np.float32)
    for begin in range(0, images, 50_000):
        part = labels[begin : begin + 50_000]
        strength = noise * np.exp(0.35 * generator.standard_normal((len(part), 1)))
        part = centres[part] + strength * generator.standard_normal((len(part), dim))
        vectors[begin : begin + 50_000] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return vectors, labels


def ours(vectors, labels, task: str) -> dict[str, float]:
    from dmlbench.evaluation import evaluate

    metrics = {"three": THREE, "all": ALL, "nmi": ["nmi"]}[task]
    return evaluate(vectors, labels, metrics=metrics).scores


def theirs(vectors, labels, task: str) -> dict[str, float]:
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    names = ("NMI",) if task == "nmi" else tuple(list(THEIR_NAMES)[:3])
    # The fewest neighbours these metrics need: the library's own faster setting.
    calculator = AccuracyCalculator(include=names, k="max_bin_count", device=torch.device("cpu"))
    found = calculator.get_accuracy(torch.from_numpy(vectors), torch.from_numpy(labels))
    return {THEIR_NAMES[name]: float(value) for name, value in found.items()}


def measure(size: str, system: str, task: str) -> None:
    """Score once and print the measurement as JSON: the whole of a child process."""
    import faiss
    import torch

    run = ours if system == OURS else theirs
    threads = int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(threads)
    faiss.omp_set_num_threads(threads)
    vectors, labels = embeddings(size)
    run(vectors[:200], labels[:200] % 20, task)  # imports and thread pools
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    scores = run(vectors, labels, task)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    unit = 1024 if sys.platform == "linux" else 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "size": size,
                "system": system,
                "task": task,
                "wall_s": round(wall, 3),
                "cpu_s": round(cpu, 3),
                "peak_gb": round(peak * unit / 1e9, 3),
                "peak_before_gb": round(before * unit / 1e9, 3),
                "scores": scores,
            }
        )
    )


def product_seconds(size: str, threads: int) -> float:
    """Seconds for the product of all pairs in float32, from the product of a part of them."""
    import torch

    torch.set_num_threads(threads)
    images, dim, *_ = SIZES[size]
    part = torch.randn(4096, dim)
    out = torch.empty(4096, 4096)
    seconds = []
    for _ in range(4):
        begin = time.perf_counter()
        torch.mm(part, part.T, out=out)
        seconds.append(time.perf_counter() - begin)
    return min(seconds) * (images / 4096) ** 2


def main() -> None:
    from dmlbench.files import whole

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", nargs="+", choices=SIZES, default=["cub200", "sop"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--output", default=REPOSITORY / "results/benchmarks/evaluation.json")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    threads = str(options.threads)
    environment = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
    report = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "threads": options.threads,
            "load_before": os.getloadavg()[0],
        },
        "product_of_all_pairs_s": {},
        "measurements": [],
    }
    print(f"{'size':8} {'system':24} {'task':6} {'wall s':>9} {'CPU s':>9} {'peak GB':>8}  scores")
    for size in options.size:
        product = product_seconds(size, options.threads)
        report["product_of_all_pairs_s"][size] = round(product, 3)
        print(f"{size:8} {'product of all pairs':24} {'':6} {product:9.2f}")
        for system, task in PLAN[size]:
            command = [sys.executable, __file__, "--measure", size, system, task]
            output = subprocess.run(
                command, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            found = json.loads(output.splitlines()[-1])
            report["measurements"].append(found)
            shown = [name for name in (*THREE, "nmi") if name in found["scores"]]
            print(
                f"{size:8} {system:24} {task:6} {found['wall_s']:9.2f} {found['cpu_s']:9.2f} "
                f"{found['peak_gb']:8.2f}  "
                + " ".join(f"{name} {found['scores'][name]:.6f}" for name in shown),
                flush=True,
            )
    with whole(options.output) as path:
        path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
