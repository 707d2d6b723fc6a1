"""The time that PROFS and hard negative class mining add to a step, at 100 and 11,318 classes.

    python benchmarks/profs.py               # about four minutes on one core
    python benchmarks/profs.py omniglot      # one setting

can2019 (section 5.4) says that PROFS adds no cost, and class mining 0.008% of the computation time
on CUB and Cars196 and 0.9% on SOP. What they add is timed part by part, at the batch of the text
(128 images, two of each class, embedding size 512, margin loss on hard pairs): drawing a batch,
tuples around representatives, the proximity term with its gradient, its reference once per M steps,
the search for the nearest classes and the storage of embeddings. The GoogLeNet step to which they
are added is timed on fewer images and scaled. A third setting is that of can2019_omniglot, where
equal iterations are equal time if nothing is added. Times are CPU times of one thread, so other
work on the machine has little effect; numbers are medians. Memory is what is kept from step to
step, and the most that drawing a batch allocates on top of it.

A GPU takes less time for the network's step, so that class mining, which stays on the CPU, has a
larger share there: `step_ms_of_printed_share` is the length of a step of which class mining would
be the printed share. Writes results/benchmarks/profs.json.
"""

import argparse
import os
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from dmlbench import registry  # noqa: E402
from dmlbench.losses import build_loss  # noqa: E402
from dmlbench.miners import build_miner  # noqa: E402
from dmlbench.regularizers import build_regularizer  # noqa: E402
from dmlbench.samplers import Batch, LearnsFromEmbeddings, Sampler, build_sampler  # noqa: E402
from dmlbench.training.objective import Objective  # noqa: E402
from dmlbench.training.representatives import restriction  # noqa: E402
from machine import machine, write_report  # noqa: E402
from torch import nn  # noqa: E402

SECONDS_A_CASE = 4.0
REPETITIONS = (3, 300)


class Setting(NamedTuple):
    """A training whose steps are timed.

    Attributes:
        images, classes: of the training data.
        batch_size, images_per_class, rho: of the batches.
        embedding_dim: size of the embeddings.
        backbone, options, shape: the network, and the shape of an image.
        at_once: images of a timed step of the network; a batch is a multiple of it.
        printed: the printed share of class mining in percent; None if nothing is printed.
    """

    images: int
    classes: int
    batch_size: int = 128
    images_per_class: int = 2
    rho: float = 6
    embedding_dim: int = 512
    backbone: str = "googlenet"
    options: dict = {}  # noqa: RUF012
    shape: tuple[int, int, int] = (3, 224, 224)
    at_once: int = 16
    printed: float | None = None


SETTINGS = {
    "cub200": Setting(5864, 100, printed=0.008),
    "sop": Setting(59551, 11318, printed=0.9),
    "omniglot": Setting(
        *(19280, 964, 64, 4, 1, 64, "convnet", {"widths": [16, 32, 64, 64]}, (1, 28, 28), 64)
    ),
}


def median_ms(step: Callable[[], object]) -> float:
    """Median CPU milliseconds of a step, after one that warms up."""
    step()
    times, started = [], time.perf_counter()
    while len(times) < REPETITIONS[0] or (
        len(times) < REPETITIONS[1] and time.perf_counter() - started < SECONDS_A_CASE
    ):
        before = time.process_time()
        step()
        times.append(1000 * (time.process_time() - before))
    return statistics.median(times)


def drawn(sampler: Sampler) -> Iterator[Batch]:
    """Batches without end."""
    number = 0
    while True:
        for batch in sampler.epoch(number):
            yield batch if isinstance(batch, Batch) else Batch(batch)
        number += 1


def sampling(name: str, setting: Setting) -> dict:
    """CPU time of a batch, including the sampler's update, and its memory."""
    sampler = build(name, setting)
    embeddings = torch.randn(setting.batch_size, setting.embedding_dim)
    learns, kept = isinstance(sampler, LearnsFromEmbeddings), 0
    if learns:
        classes = setting.classes
        sampler.memory.update(np.arange(classes), torch.randn(classes, setting.embedding_dim))
        kept = sampler.memory.embeddings.nbytes + sampler.memory.known.nbytes
    batches = drawn(sampler)

    def step() -> None:
        batch = next(batches)
        if learns:
            sampler.update(batch.rows, embeddings)

    milliseconds = median_ms(step)
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"ms": milliseconds, "kept_mib": kept / 2**20, "peak_mib": peak / 2**20}


def build(name: str, setting: Setting) -> Sampler:
    """A sampler of the setting's data."""
    labels = np.arange(setting.images) % setting.classes
    options = {"rho": setting.rho} if name.startswith("profs") else {}
    options |= {"images_per_class": setting.images_per_class}
    return build_sampler(name, labels, batch_size=setting.batch_size, seed=0, **options)


def loss_ms(setting: Setting, *, restricted: bool) -> float:
    """CPU time of the margin loss on hard pairs, forward and backward."""
    size, dim = setting.batch_size, setting.embedding_dim
    loss, miner = build_loss("margin", num_classes=2, embedding_dim=dim), build_miner("hard_pairs")
    restrict = restriction("margin", is_mined=True) if restricted else None
    objective = Objective(nn.Identity(), loss, miner=miner, restrict=restrict)
    first = np.arange(0, size, setting.images_per_class) if restricted else None
    batch = Batch(np.arange(size), representatives=first)
    labels = torch.arange(size) // setting.images_per_class
    points = nn.functional.normalize(torch.randn(size, dim))

    def step() -> None:
        value, _ = objective(batch, points.requires_grad_(), labels)
        value.backward()

    return median_ms(step)


def network_parts(setting: Setting) -> dict:
    """CPU time of the network's step on a batch, of the proximity term and of its reference."""
    shape, size, at_once = setting.shape, setting.batch_size, setting.at_once
    context = {"input_channels": shape[0]}
    body = registry.build(
        "networks/backbones", setting.backbone, context=context, **setting.options
    )
    head = nn.Linear(body.features, setting.embedding_dim)
    network = nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
    network.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-5)
    images = torch.rand(at_once, *shape).contiguous(memory_format=torch.channels_last)
    proximity = build_regularizer("proximity", weight=1e-3)

    def forward_and_backward() -> None:
        optimizer.zero_grad()
        network(images).square().mean().backward()

    def penalty() -> None:
        # Gradients exist already: the term's own are added to them.
        proximity(network.parameters()).backward()

    of_images = median_ms(forward_and_backward)
    proximity.snapshot(network.parameters())
    return {
        "step_ms": of_images * size / at_once + median_ms(optimizer.step),
        "proximity_ms": median_ms(penalty),
        "reference_ms": median_ms(lambda: proximity.snapshot(network.parameters())),
        "reference_mib": sum(part.numel() * 4 for part in network.parameters()) / 2**20,
    }


def row(name: str, setting: Setting) -> dict:
    """The time that each part adds to a step of a setting."""
    network = network_parts(setting)
    samplers = {kind: sampling(kind, setting) for kind in ("class_balanced", "profs", "profs_hncm")}
    projection = build("profs", setting).iterations_per_projection
    parts = {
        "batch": samplers["profs"]["ms"] - samplers["class_balanced"]["ms"],
        "tuples": loss_ms(setting, restricted=True) - loss_ms(setting, restricted=False),
        "proximity": network["proximity_ms"],
        "reference": network["reference_ms"] / projection,
    }
    mining = samplers["profs_hncm"]["ms"] - samplers["profs"]["ms"]
    found = {
        "setting": name,
        "classes": setting.classes,
        "iterations_per_projection": projection,
        "network": network,
        "sampler": samplers,
        "profs_ms": parts,
        "profs_percent": 100 * sum(parts.values()) / network["step_ms"],
        "hncm_ms": mining,
        "hncm_percent": 100 * mining / network["step_ms"],
        "profs_kept_mib": network["reference_mib"],
        "hncm_kept_mib": samplers["profs_hncm"]["kept_mib"],
        "hncm_peak_mib": samplers["profs_hncm"]["peak_mib"],
    }
    if setting.printed is not None:
        found["hncm_percent_printed"] = setting.printed
        found["step_ms_of_printed_share"] = 100 * mining / setting.printed
    return found


def as_line(found: dict) -> str:
    """A row of the printed table."""
    printed = found.get("hncm_percent_printed")
    shown = "" if printed is None else f", printed {printed}%"
    return (
        f"{found['setting']}, {found['classes']:,} classes, a plain step of "
        f"{found['network']['step_ms']:,.0f} ms: PROFS {sum(found['profs_ms'].values()):+.2f} ms "
        f"({found['profs_percent']:+.2f}%), {found['profs_kept_mib']:.1f} MiB; HNCM "
        f"{found['hncm_ms']:+.2f} ms ({found['hncm_percent']:+.4f}%{shown}), "
        f"{found['hncm_kept_mib']:.1f} MiB kept, {found['hncm_peak_mib']:.1f} MiB at most"
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", help=f"among {', '.join(SETTINGS)}; none for all")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "results/benchmarks/profs.json")
    arguments = parser.parse_args()
    described = machine(("torch", "numpy")) | {"threads": 1, "device": "cpu"}
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for name in arguments.settings or SETTINGS:
        rows.append(row(name, SETTINGS[name]))
        print(as_line(rows[-1]), flush=True)
    described["load_after"] = os.getloadavg()[0]
    write_report(arguments.output, {"machine": described, "rows": rows})


if __name__ == "__main__":
    main()
