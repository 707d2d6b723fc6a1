"""Time every loss against pytorch-metric-learning's, forward and backward, in one process.

    python benchmarks/losses.py                      # all, about ten minutes on two cores
    python benchmarks/losses.py contrastive circle   # some

Writes results/benchmarks/losses.json and prints its tables. Ours and the library's take turns, so
that a busy machine slows both; the number is the median. Only losses with the same definition are
compared, up to the choice of average; the others are timed alone (n_pair uses every image of the
batch and the library's NPairsLoss two of each class: that one is n_pair_one_per_class).
"""

import argparse
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # before torch: the profiler is too verbose

import torch

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "workflow/scripts"))

from dmlbench.losses import available, build_loss  # noqa: E402
from machine import machine, write_report  # noqa: E402

SETUPS = {"180 x 512, 100 classes": (180, 100), "512 x 512, 11318 classes": (512, 11318)}
EMBEDDING_DIM = 512
IMAGES_PER_CLASS = 5
SECONDS_A_CASE = 4.0
REPETITIONS = (5, 200)


class Case(NamedTuple):
    """What is timed: our loss and the library's, built for a number of classes.

    library_copies: how often the library holds positive pairs x negative pairs floats at once.
    """

    ours: str
    library: Callable[[int], torch.nn.Module] | None
    hyperparameters: dict = {}  # noqa: RUF012
    library_copies: int = 0


def cases() -> list[Case]:
    """Our losses, each with the library's loss of the same name if there is one."""
    from pytorch_metric_learning import distances, losses, reducers

    cosine, mean = distances.CosineSimilarity, reducers.MeanReducer

    def plain_euclidean() -> distances.LpDistance:
        return distances.LpDistance(normalize_embeddings=False)

    paired = {
        "contrastive": lambda C: losses.ContrastiveLoss(1, 0.5, distance=cosine()),
        "contrastive_balanced": lambda C: losses.ContrastiveLoss(distance=plain_euclidean()),
        "triplet": lambda C: losses.TripletMarginLoss(0.1, distance=cosine(), reducer=mean()),
        "ranking": lambda C: losses.TripletMarginLoss(
            0.1, distance=plain_euclidean(), reducer=mean()
        ),
        "triplet_nonzero": lambda C: losses.TripletMarginLoss(0.1, distance=plain_euclidean()),
        "lifted_structure": lambda C: losses.LiftedStructureLoss(-0.5, 0, distance=cosine()),
        "lifted_structure_euclidean": lambda C: losses.LiftedStructureLoss(
            distance=plain_euclidean()
        ),
        "generalized_lifted": lambda C: losses.GeneralizedLiftedStructureLoss(
            distance=plain_euclidean()
        ),
        "n_pair_one_per_class": lambda C: losses.NPairsLoss(),
        "angular_only": lambda C: losses.AngularLoss(45),
        "margin": lambda C: losses.MarginLoss(0.5, beta=1.2, learn_beta=True),
        "margin_per_class": lambda C: losses.MarginLoss(
            0.5, beta=1.2, learn_beta=True, num_classes=C
        ),
        "multi_similarity": lambda C: losses.MultiSimilarityLoss(),
        "fastap": lambda C: losses.FastAPLoss(),
        "histogram": lambda C: losses.HistogramLoss(64),
        "snr_contrastive": lambda C: losses.SignalToNoiseRatioContrastiveLoss(),
        "circle": lambda C: losses.CircleLoss(),
        "supervised_contrastive": lambda C: losses.SupConLoss(),
        "smooth_ap": lambda C: losses.SmoothAPLoss(),
        "proxy_nca_plus_plus": lambda C: losses.ProxyNCALoss(C, EMBEDDING_DIM, softmax_scale=9),
        "normalized_softmax": lambda C: losses.NormalizedSoftmaxLoss(C, EMBEDDING_DIM),
        "cosface": lambda C: losses.CosFaceLoss(C, EMBEDDING_DIM),
        "arcface": lambda C: losses.ArcFaceLoss(C, EMBEDDING_DIM),
        "soft_triple": lambda C: losses.SoftTripleLoss(C, EMBEDDING_DIM, margin=0.1),
        "proxy_anchor": lambda C: losses.ProxyAnchorLoss(C, EMBEDDING_DIM),
    }
    # the library's have no center-merging regularizer and no embedding length in the loss
    settings = {"soft_triple": {"tau": 0}, "n_pair_one_per_class": {"l2": 0}}
    return [
        Case(
            name,
            paired.get(name),
            settings.get(name, {}),
            library_copies=8 if name.startswith("lifted_structure") else 0,
        )
        for name in available()
    ]


def why_left_out(case: Case, labels: torch.Tensor, device: str) -> str | None:
    """Why the library's loss cannot run on this batch, or None if it can."""
    _, images = labels.unique(return_counts=True)
    if case.ours == "smooth_ap" and len(images.unique()) > 1:
        return "it needs classes of equal size"
    size = len(labels)
    if device == "cuda":
        free = torch.cuda.mem_get_info()[0]
    else:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    positive_pairs = size * (IMAGES_PER_CLASS - 1)
    negative_pairs = size * (size - IMAGES_PER_CLASS)
    if 4 * positive_pairs * negative_pairs * case.library_copies > free:
        return "its step does not fit into the free memory"
    return None


def batch(size: int, num_classes: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit-length embeddings [B, D] and labels, five images per class."""
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(size, EMBEDDING_DIM, generator=generator)
    classes = torch.randperm(num_classes, generator=generator)[: -(-size // IMAGES_PER_CLASS)]
    labels = classes.repeat_interleave(IMAGES_PER_CLASS)[:size]
    return torch.nn.functional.normalize(embeddings).to(device), labels.to(device)


def step(loss: torch.nn.Module, embeddings: torch.Tensor, labels: torch.Tensor) -> None:
    """One forward and backward, from embeddings that need a gradient."""
    loss.zero_grad(set_to_none=True)
    loss(embeddings.detach().requires_grad_(), labels).backward()
    if embeddings.is_cuda:
        torch.cuda.synchronize()


def interleaved_medians(steps: list[Callable[[], None]]) -> list[float]:
    """Median milliseconds of each step; they take turns until the time is spent."""
    for one in steps:
        one()
    times = [[] for _ in steps]
    started = time.perf_counter()
    while len(times[0]) < REPETITIONS[0] or (
        len(times[0]) < REPETITIONS[1] and time.perf_counter() - started < SECONDS_A_CASE
    ):
        for one, its_times in zip(steps, times, strict=True):
            before = time.perf_counter()
            one()
            its_times.append(1000 * (time.perf_counter() - before))
    return [statistics.median(its_times) for its_times in times]


def peak_memory(one: partial, device: str) -> int:
    """Largest number of bytes that a step holds at once beyond what was there before it.

    On a CPU the profiler's record of every allocation and release is added up in time order.
    """
    one()
    one.args[0].zero_grad(set_to_none=True)
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        one()
        return torch.cuda.max_memory_allocated() - before
    with torch.profiler.profile(profile_memory=True) as profile:
        one()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def measure(names: list[str], device: str) -> list[dict]:
    """One row per loss and setup: milliseconds, ratio, and at B = 512 peak memory in MiB."""
    rows = []
    for setup, (size, num_classes) in SETUPS.items():
        embeddings, labels = batch(size, num_classes, device)
        for case in cases():
            if names and case.ours not in names:
                continue
            torch.manual_seed(0)
            ours = build_loss(
                case.ours,
                num_classes=num_classes,
                embedding_dim=EMBEDDING_DIM,
                **case.hyperparameters,
            )
            left_out = why_left_out(case, labels, device)
            compared = case.library is not None and left_out is None
            both = [ours] + ([case.library(num_classes)] if compared else [])
            steps = [partial(step, loss.to(device), embeddings, labels) for loss in both]
            medians = interleaved_medians(steps)
            row = {"loss": case.ours, "setup": setup, "ours_ms": medians[0]}
            if compared:
                row |= {"library_ms": medians[1], "ratio": medians[1] / medians[0]}
            elif case.library:
                row["library_left_out"] = left_out
            if size == 512:
                peaks = [peak_memory(one, device) / 2**20 for one in steps]
                row |= dict(zip(["ours_peak_mib", "library_peak_mib"], peaks, strict=False))
            rows.append(row)
            print(as_line(row), flush=True)
    return rows


def as_line(row: dict) -> str:
    """A row of the printed table."""
    cells = [f"{row['loss']:28}{row['setup']:26}{row['ours_ms']:10.3f}"]
    for key in ["library_ms", "ratio", "ours_peak_mib", "library_peak_mib"]:
        cells.append(f"{row[key]:12.2f}" if key in row else f"{'-':>12}")
    return "".join(cells)


def geometric_mean(ratios: list[float]) -> float:
    """exp of the mean logarithm."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("losses", nargs="*", help="names of losses; none for all")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument(
        "--output", type=Path, default=REPOSITORY / "results/benchmarks/losses.json"
    )
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", module="pytorch_metric_learning")
    described = machine(("torch", "pytorch-metric-learning")) | {
        "device": torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
    }
    heads = ["library ms", "ratio", "MiB", "library MiB"]
    print(f"{'loss':28}{'batch':26}{'ours ms':>10}" + "".join(f"{head:>12}" for head in heads))
    rows = measure(arguments.losses, arguments.device)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    summary = {"geometric_mean_ratio": geometric_mean(ratios), "smallest_ratio": min(ratios)}
    print(f"geometric mean {summary['geometric_mean_ratio']:.2f}x", end=", ")
    print(f"smallest {summary['smallest_ratio']:.2f}x over {len(ratios)} comparisons")
    write_report(arguments.output, {"machine": described, "summary": summary, "rows": rows})


if __name__ == "__main__":
    main()
