"""Images per second from disk to the network's input, against torchvision's DataLoader.

    python benchmarks/input.py                 # about five minutes on two cores
    python benchmarks/input.py --data FOLDER   # the folder that holds grocery81.zip

Both deliver the Grocery Store photographs as float32 batches of 128, crops of 224 pixels, with the
same transforms, from files that the machine has read before. Ours reads them packed, once with
the shorter side resized to 256 (what the studies' recipes begin with) and once as they are; theirs
decodes the JPEG files, with 1 and 2 worker processes and one per core, of which the fastest counts.
They take turns, so that a busy machine slows both; a rate is the median over the rounds, and the
best of each system is compared. CPU time counts all threads and processes; other load affects it
less than rates.

On a GPU, ResNet-50's training step with these images is timed next to the same step on random
tensors that are already there. Writes results/benchmarks/input.json and prints a table.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
from dmlbench.data.archives import Archive  # noqa: E402
from dmlbench.data.feed import Feed  # noqa: E402
from dmlbench.data.index import index, read_index  # noqa: E402
from dmlbench.data.pack import pack  # noqa: E402
from dmlbench.data.pixels import Pixels  # noqa: E402
from dmlbench.data.transforms import build_transforms  # noqa: E402
from dmlbench.training.cpu import use_cpu  # noqa: E402
from machine import machine, write_report  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402

OURS = "dmlbench"
BATCH, SIDE, PACKED = 128, 224, 256
WORKERS = sorted({1, 2, os.cpu_count()})
CROP, FLIP = {"random_resized_crop": {"size": SIDE}}, {"random_horizontal_flip": None}
MIDDLE, RESIZE = {"center_crop": {"size": SIDE}}, {"resize": {"size": PACKED}}
THEIR_CROP = [T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip()]

CASES = {  # name -> (how our store is packed, our steps, torchvision's transforms)
    "random resized crop, flip": (
        PACKED,
        [CROP, FLIP],
        [T.Resize(PACKED), *THEIR_CROP],
    ),
    "resize, center crop": (
        PACKED,
        [MIDDLE],
        [T.Resize(PACKED), T.CenterCrop(SIDE)],
    ),
    "random resized crop, flip; unresized": (None, [CROP, FLIP], THEIR_CROP),
    "resize, center crop; unresized": (
        None,
        [RESIZE, MIDDLE],
        [T.Resize(PACKED), T.CenterCrop(SIDE)],
    ),
}


def prepare(
    data: Path, folder: Path, images: int | None
) -> tuple[dict[int | None, Pixels], np.ndarray, Path]:
    """Our stores by size, the ids of the images to read, and these images as class folders."""
    archive = data / "grocery81.zip"
    index([archive], "grocery", folder / "images.parquet")
    stores = {}
    for size in (PACKED, None):
        files = folder / f"{size}.npy", folder / f"{size}.parquet"
        pack(folder / "images.parquet", [archive], size, "rgb", *files, threads=os.cpu_count())
        stores[size] = Pixels(*files)
    rows = read_index(folder / "images.parquet").sample(images or len(stores[None]), random_state=0)
    with Archive(archive) as opened:
        for row in rows.itertuples():
            file = folder / "classes" / f"{row.label:03}" / f"{row.image_id}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(opened.read(row.member))
    return stores, rows["image_id"].to_numpy(), folder / "classes"


def ours(store: Pixels, ids: np.ndarray, steps: list[dict] | None, threads: int) -> Iterator[int]:
    """Deliver every image once, in a random order; yields the batches' sizes."""
    use_cpu(threads)
    transform = None if steps is None else build_transforms(steps)
    batches = np.array_split(ids, -(-len(ids) // BATCH))
    generator = torch.Generator().manual_seed(0)
    for images in Feed(store, torch.device("cpu")).batches(batches):
        yield len(images if transform is None else transform(images, generator))


def theirs(folder: Path, chain: list, workers: int) -> Iterator[int]:
    """The same by torchvision."""
    use_cpu(os.cpu_count())
    images = ImageFolder(folder, T.Compose([*chain, T.ToTensor()]))
    for batch, _ in DataLoader(images, BATCH, shuffle=True, num_workers=workers):
        yield len(batch)


def timed(delivery: Iterator[int]) -> tuple[float, float]:
    """Images per second, from the first requested batch on, and CPU milliseconds per image."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    count = sum(delivery)
    wall = time.perf_counter() - wall
    return count / wall, 1000 * (cpu_seconds() - cpu) / count


def cpu_seconds() -> float:
    """CPU seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def compare(case: str, stores: dict, ids: np.ndarray, folder: Path, rounds: int) -> dict:
    """Rates of both systems in one case."""
    size, steps, chain = CASES[case]
    systems: dict[str, Callable[[], Iterator[int]]] = {
        f"{OURS}, {threads} threads": lambda n=threads: ours(stores[size], ids, steps, n)
        for threads in sorted({1, os.cpu_count()})
    }
    for workers in WORKERS:
        systems[f"torchvision, {workers} workers"] = lambda n=workers: theirs(folder, chain, n)
    found = {name: [] for name in systems}
    sum(ours(stores[size], ids, steps, 1))
    for _ in range(rounds):
        for name, system in systems.items():
            found[name].append(timed(system()))
    rows = {
        name: {
            "images_a_second": round(statistics.median(rate for rate, _ in values), 1),
            "all_rounds": [round(rate, 1) for rate, _ in values],
            "cpu_ms_an_image": round(statistics.median(cpu for _, cpu in values), 4),
        }
        for name, values in found.items()
    }
    mine = [row for name, row in rows.items() if name.startswith(OURS)]
    others = [row for name, row in rows.items() if not name.startswith(OURS)]
    rates = [max(row["images_a_second"] for row in group) for group in (mine, others)]
    spent = [min(row["cpu_ms_an_image"] for row in group) for group in (mine, others)]
    return {
        "case": case,
        "systems": rows,
        "ratio": round(rates[0] / rates[1], 2),
        "cpu_ratio": round(spent[1] / spent[0], 2),
    }


def split(case: str, stores: dict, ids: np.ndarray) -> dict[str, float]:
    """CPU milliseconds per image, on one thread, up to each of our steps in a case.

    All except reading end in floats.
    """
    size, steps, _ = CASES[case]
    chains = {"read": None} | {
        ", ".join([next(iter(step)) for step in steps[: number + 1]]): steps[: number + 1]
        for number in range(len(steps))
    }
    spent = {
        name: min(timed(ours(stores[size], ids, chain, 1))[1] for _ in range(2))
        for name, chain in chains.items()
        if name != "resize"  # which gives no batch of one size
    }
    return {name: round(value, 4) for name, value in spent.items()}


def training_steps(stores: dict, device: torch.device, steps: int = 60) -> dict:
    """Images per second of ResNet-50's training step, on our input and on random tensors."""
    network = torchvision.models.resnet50(num_classes=81).to(device)
    network = network.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    labels = torch.zeros(BATCH, dtype=torch.long, device=device)
    random = torch.rand(BATCH, 3, SIDE, SIDE, device=device)
    random = random.to(memory_format=torch.channels_last)
    generator = np.random.default_rng(0)
    ids = [generator.choice(len(stores[PACKED]), BATCH) for _ in range(steps)]
    transform, draws = build_transforms([CROP, FLIP]), torch.Generator().manual_seed(0)

    def real(share: float) -> Iterator[torch.Tensor]:
        from dmlbench.data import feed

        feed.RESIDENT, kept = share, feed.RESIDENT
        source = Feed(stores[PACKED], device)
        feed.RESIDENT = kept
        return (transform(images, draws) for images in source.batches(ids))

    def rate(batches: Iterator[torch.Tensor]) -> float:
        for number, images in enumerate(batches):
            if number == 10:  # the first ones choose algorithms and fill caches
                torch.cuda.synchronize()
                begin = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(network(images), labels).backward()
            optimizer.step()
        torch.cuda.synchronize()
        return (steps - 10) * BATCH / (time.perf_counter() - begin)

    rates = {
        "random tensors": rate(random for _ in range(steps)),
        "store on the GPU": rate(real(1.0)),
        "store in pinned batches": rate(real(0.0)),
    }
    rates |= {f"{name}, share": rates[name] / rates["random tensors"] for name in list(rates)[1:]}
    return {name: round(value, 3) for name, value in rates.items()}


def device() -> dict:
    """The device that torch computes on."""
    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    """Measure, print, write."""
    shared = os.environ.get("DMLBENCH_SHARED", REPOSITORY.parent / "shared")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(shared) / "datasets" / "grocery81")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, help="only so many of them")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "results/benchmarks/input.json")
    options = parser.parse_args()
    if not (options.data / "grocery81.zip").is_file():
        sys.exit(f"{options.data}: no grocery81.zip there; say where with --data")
    report = {
        "machine": machine(("torch", "torchvision", "pillow")) | device(),
        "images": options.images,
        "cases": [],
        "gpu": None,
    }
    with tempfile.TemporaryDirectory() as folder:
        stores, ids, classes = prepare(options.data, Path(folder), options.images)
        for case in CASES:
            row = compare(case, stores, ids, classes, options.rounds)
            row["ours_step_by_step_cpu_ms"] = split(case, stores, ids)
            report["cases"].append(row)
            for name, values in row["systems"].items():
                rate, cpu = values["images_a_second"], values["cpu_ms_an_image"]
                print(f"{case:38} {name:24} {rate:9.1f} images/s {cpu:8.3f} CPU ms/image")
            print(f"{case:38} {'ratio':24} {row['ratio']:9.2f}; of CPU time {row['cpu_ratio']}")
            print(f"{'':38} step by step: {row['ours_step_by_step_cpu_ms']}", flush=True)
        if torch.cuda.is_available():
            report["gpu"] = training_steps(stores, torch.device("cuda"))
            print(report["gpu"])
        else:
            print("training step on real input: skipped, for torch sees no GPU")
    report["machine"]["load_after"] = os.getloadavg()[0]
    write_report(options.output, report)
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
