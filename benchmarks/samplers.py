"""CPU seconds that each batch sampler of roth2020 takes for a batch, at the sizes of its data.

    python benchmarks/samplers.py              # about a minute on one core
    python benchmarks/samplers.py --batches 5  # fewer batches of each

A batch has 112 images. Labels are as many as the training images of CUB200-2011 (5,864 in 100
classes) and of Stanford Online Products (59,551 in 11,318), in classes of nearly equal size; the
memory holds random embeddings of 128 dimensions, on the unit sphere. The embedding-based samplers
choose out of 1,024 images; "groups" are pairs of a class. CPU time counts all threads. Writes
results/benchmarks/samplers.json and prints a table.
"""

import argparse
import itertools
import statistics
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
from dmlbench.samplers import LearnsFromEmbeddings, build_sampler  # noqa: E402
from machine import machine, write_report  # noqa: E402

BATCH, DIMENSIONS = 112, 128
SIZES = {"cub200": (5_864, 100), "sop": (59_551, 11_318)}
SAMPLERS = {
    "SPC-2": {"name": "spc", "images_per_class": 2},
    "SPC-4": {"name": "spc", "images_per_class": 4},
    "SPC-8": {"name": "spc", "images_per_class": 8},
    "SPC-R": {"name": "spc_r"},
    "DDM": {"name": "distance_distribution"},
    "GC": {"name": "greedy_coreset"},
    "FRD": {"name": "frd"},
    "DDM, groups": {"name": "distance_distribution", "group_size": 2},
    "GC, groups": {"name": "greedy_coreset", "group_size": 2},
    "FRD, groups": {"name": "frd", "group_size": 2},
}


def cpu_seconds(options: dict, images: int, classes: int, batches: int) -> list[float]:
    """CPU seconds of each of the batches; the first, which warms up, is not counted."""
    labels = np.arange(images) % classes
    sampler = build_sampler(labels=labels, batch_size=BATCH, seed=0, **options)
    if isinstance(sampler, LearnsFromEmbeddings):
        vectors = np.random.default_rng(0).normal(size=(images, DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        sampler.update(np.arange(images), vectors)
    found, stream = [], sampler.epoch(0)
    for _ in itertools.islice(stream, 1):
        pass
    for _ in range(batches):
        begin = time.process_time()
        next(stream)
        found.append(time.process_time() - begin)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", type=int, default=20, help="how many are timed")
    batches = parser.parse_args().batches
    rows = {
        data: {
            title: round(1000 * statistics.median(cpu_seconds(options, *size, batches)), 3)
            for title, options in SAMPLERS.items()
        }
        for data, size in SIZES.items()
    }
    output = REPOSITORY / "results" / "benchmarks" / "samplers.json"
    report = {"machine": machine(["numpy"]), "batch": BATCH, "cpu_milliseconds_per_batch": rows}
    write_report(output, report)
    print(f"{'CPU ms for a batch of 112':28}" + "".join(f"{data:>10}" for data in SIZES))
    for title in SAMPLERS:
        print(f"{title:28}" + "".join(f"{rows[data][title]:10.2f}" for data in SIZES))


if __name__ == "__main__":
    main()
