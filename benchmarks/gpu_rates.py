"""How fast a device trains, next to a ceiling of the same run; memory, input, sharing."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import yaml
from dmlbench.data import feed as feeds
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from dmlbench.evaluation import evaluate
from dmlbench.losses import build_loss
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.memory_model import BESIDE, Memory
from dmlbench.plan.read import read_yaml
from dmlbench.plan.recipes import Optimizer
from dmlbench.training.optimization import build_optimizer
from gpu_equal import Toy
from gpu_report import Finding
from step_memory import PIXELS, REPOSITORY, Live, spec

CONFIG = REPOSITORY / "config"
PRECISIONS = ("float32", "tf32", "bfloat16")
MADDS = yaml.safe_load((CONFIG / "costs.yaml").read_text())["networks"]


class Scale(NamedTuple):
    """How large the check is.

    Attributes:
        networks: whose steps are timed, and with which batches.
        compiled: those that are compiled as well.
        pixels: of large networks.
        side: of the ceiling's matrices.
        seconds: of one timing.
        spaces: name -> images, dimensions, classes and the seconds that scoring may take.
        jobs: how many train at once.
        batch: (images, classes, dimensions) of a timed loss.
        library: losses next to pytorch-metric-learning's; None for all that it has.
    """

    networks: dict[str, int]
    compiled: tuple[str, ...]
    pixels: int
    side: int
    seconds: float
    spaces: dict[str, tuple[int, int, int, float]]
    jobs: tuple[int, ...]
    batch: tuple[int, int, int]
    library: tuple[str, ...] | None


class Clock:
    """Times calls on a device, whose queue is waited for."""

    def __init__(self, device: torch.device, seconds: float):
        self.device, self.seconds = device, seconds

    def wait(self) -> None:
        """Until the device has done all that was asked."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def each(self, call: Callable[[], object], warm: int = 2) -> float:
        """Median seconds of a call, over as many rounds of several as the time allows."""
        for _ in range(warm):
            call()
        self.wait()
        begin = time.perf_counter()
        call()
        self.wait()
        calls = max(1, int(self.seconds / 5 / max(time.perf_counter() - begin, 1e-6)))
        rounds = []
        for _ in range(5 if calls > 1 else 1):
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            self.wait()
            rounds.append((time.perf_counter() - begin) / calls)
        return statistics.median(rounds)


def set_tf32(allowed: bool) -> None:
    """Let products and convolutions of float32 be made of 19-bit numbers, or not."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def ceiling(clock: Clock, side: int) -> dict[str, float]:
    """Operations a second of a large product, by precision."""
    found = {}
    for precision in PRECISIONS:
        set_tf32(precision == "tf32")
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        left, right = (torch.randn(side, side, device=clock.device).to(dtype) for _ in range(2))
        found[precision] = 2 * side**3 / clock.each(lambda a=left, b=right: a @ b)
    set_tf32(False)
    return found


class Step:
    """A training step of a network on random images, as the training makes it.

    Args:
        precision: one of PRECISIONS.
        mode: eager, channels_first, compiled or graphs (compiled, with CUDA graphs).
    """

    def __init__(
        self, network: str, batch: int, pixels: int, precision: str, mode: str, device: torch.device
    ):
        torch.manual_seed(0)
        set_tf32(precision == "tf32")
        made_of = spec(network, "bfloat16" if precision == "bfloat16" else "float32")
        self.network = Embedder(made_of).to(device).train()
        self.embed = self.network
        if mode == "channels_first":
            self.network.to(memory_format=torch.contiguous_format)
            self.network.normalized = lambda images: (images - self.network.mean) / self.network.std
        if mode in ("compiled", "graphs"):
            torch.compiler.reset()
            options = {"mode": "reduce-overhead"} if mode == "graphs" else {}
            self.embed = torch.compile(self.network, **options)
        settings = Optimizer(name="adamw", learning_rate=1e-4, fused=mode != "eager")
        self.loss = build_loss("proxy_anchor", num_classes=100, embedding_dim=512).to(device)
        self.optimizer = build_optimizer(settings, [(self.network, 1e-4), (self.loss, 1e-2)])
        channels = len(made_of.network.mean)
        self.images = torch.rand(batch, channels, pixels, pixels, device=device)
        self.labels = torch.arange(batch, device=device) % 100

    def __call__(self, images: torch.Tensor | None = None) -> None:
        embeddings = self.embed(self.images if images is None else images)
        loss = self.loss(embeddings, self.labels[: len(embeddings)])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def _size(network: str, scale: Scale) -> int:
    own = PIXELS.get(network, scale.pixels)
    return min(own, scale.pixels) if own > 28 else own


def step_rates(clock: Clock, scale: Scale, best: dict[str, float], left: Callable[[], float]):
    """Images a second of training steps, and the share of the ceiling; memory next to the plan's.

    Args:
        best: operations a second at most, by precision.
        left: seconds for what need not be measured.
    """
    memory = read_yaml(CONFIG / "memory.yaml", Memory)
    for network, batch in scale.networks.items():
        pixels = _size(network, scale)
        modes = ["eager", "channels_first"]
        modes += ["compiled", "graphs"] if network in scale.compiled else []
        for precision in PRECISIONS:
            for mode in modes:
                what = f"{network} {pixels}px x{batch} {precision} {mode}"
                if mode == "graphs" and clock.device.type == "cpu":
                    continue
                if mode != "eager" and left() < 0:
                    yield Finding("steps", what, None, "left out: time is up")
                    continue
                yield from _of_step(clock, network, (batch, pixels, precision, mode), what, best)
                if mode == "eager" and precision != "tf32":
                    made_of = spec(network, precision)
                    crop = {"name": "center_crop", "size": pixels}
                    values = made_of.as_dict() | {
                        "batch_size": batch,
                        "transforms": {"train": [crop], "test": []},
                    }
                    predicted = memory.of_training(network, type(made_of).model_validate(values))
                    yield from _memory(clock, network, batch, pixels, precision, predicted)
    set_tf32(False)


def _of_step(clock: Clock, network: str, how: tuple, what: str, best: dict) -> Iterator[Finding]:
    batch, pixels, precision, mode = how
    step = Step(network, batch, pixels, precision, mode, clock.device)
    rate = batch / clock.each(step)
    yield Finding("steps", what, rate, "images/s")
    operations = 6e9 * MADDS[network]["multiply_adds"] * (pixels / MADDS[network]["pixels"]) ** 2
    yield Finding("steps", f"{what}, of the ceiling", rate * operations / best[precision], "share")


def _memory(
    clock: Clock, network: str, batch: int, pixels: int, precision: str, predicted: float
) -> Iterator[Finding]:
    """The peak of a step next to the plan's estimate, of which a part is beside the tensors."""
    what = f"{network} {pixels}px x{batch} {precision}, predicted"
    predicted -= BESIDE
    if clock.device.type == "cuda":
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step = Step(network, batch, pixels, precision, "eager", clock.device)
        step(), step()
        measured = torch.cuda.max_memory_allocated() - before
    else:
        with Live() as live:
            step = Step(network, batch, pixels, precision, "eager", clock.device)
            for tensor in (*step.network.parameters(), *step.network.buffers()):
                live.add(tensor)
            step(), step()
            measured = live.peak
    yield Finding("memory", what, predicted / measured, "of measured", least=0.8, most=1.3)


def loss_shares(clock: Clock, scale: Scale, names: list[str]) -> Iterator[Finding]:
    """The time of a loss, forward and backward, as a share of a ResNet-50 step."""
    batch, classes, dim = scale.batch
    network = "resnet50" if "resnet50" in scale.networks else next(iter(scale.networks))
    step = Step(network, batch, _size(network, scale), "float32", "eager", clock.device)
    whole = clock.each(step)
    embeddings = torch.nn.functional.normalize(torch.randn(batch, dim, device=clock.device))
    labels = torch.arange(batch, device=clock.device) // 5
    quick = Clock(clock.device, clock.seconds / 10)
    # At toy size a step is that of a toy network.
    most = 0.03 if network == "resnet50" else None
    for name in names:
        loss = build_loss(name, num_classes=classes, embedding_dim=dim).to(clock.device)
        share = quick.each(lambda loss=loss: _learn(loss, embeddings, labels)) / whole
        yield Finding("loss share", f"{name}, of a step of {network}", share, "share", most=most)


def _learn(loss: torch.nn.Module, embeddings: torch.Tensor, labels: torch.Tensor) -> None:
    loss.zero_grad(set_to_none=True)
    loss(embeddings.detach().requires_grad_(), labels).backward()


def library_ratios(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """How many times as long pytorch-metric-learning's losses take."""
    from losses import cases

    batch, classes, _ = scale.batch
    embeddings = torch.nn.functional.normalize(torch.randn(batch, 512, device=clock.device))
    labels = torch.arange(batch, device=clock.device) // 5
    quick, ratios = Clock(clock.device, clock.seconds / 10), []
    for case in cases():
        if case.library is None or (scale.library and case.ours not in scale.library):
            continue
        if case.library_copies and batch > 256:
            continue  # its step takes batch^3 numbers
        context = {"num_classes": classes, "embedding_dim": 512}
        ours = build_loss(case.ours, **context, **case.hyperparameters).to(clock.device)
        theirs = case.library(classes).to(clock.device)
        times = [
            quick.each(lambda loss=loss: _learn(loss, embeddings, labels))
            for loss in (ours, theirs)
        ]
        ratios.append(times[1] / times[0])
        yield Finding("library", case.ours, ratios[-1], "x our time")
    least = 3 if clock.device.type == "cuda" else None
    yield Finding("library", "median", statistics.median(ratios), "x our time", least=least)


def input_rates(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Images a second into training steps: resident on the device, or packed and pinned."""
    network = "resnet50" if "resnet50" in scale.networks else "convnet4"
    packed = _size(network, scale) + 32
    with tempfile.TemporaryDirectory() as folder:
        store = _random_store(Path(folder), packed, scale.networks[network] * 8)
        rates = {}
        for way, share in (("resident", 1.0), ("packed", 0.0)):
            before, feeds.RESIDENT = feeds.RESIDENT, share
            try:
                rates[way] = _input_rate(clock, scale, network, store)
            finally:
                feeds.RESIDENT = before
            yield Finding("input", f"{network}, {way}", rates[way], "images/s")
    least = 0.95 if clock.device.type == "cuda" else None
    share = rates["packed"] / rates["resident"]
    yield Finding("input", f"{network}, packed of resident", share, "share", least=least)


def _random_store(folder: Path, side: int, images: int) -> Pixels:
    """Packed characters at another size: what they show does not matter."""
    toy = Toy(folder, side)
    return Pixels(toy.pixels, toy.table)


def _input_rate(clock: Clock, scale: Scale, network: str, store: Pixels) -> float:
    batch, pixels = scale.networks[network], _size(network, scale)
    step = Step(network, batch, pixels, "bfloat16", "eager", clock.device)
    channels = step.images.shape[1]
    transform = build_transforms(
        [{"random_resized_crop": {"size": pixels}}, {"random_horizontal_flip": None}]
    )
    images = feeds.Feed(store, clock.device)
    generator = torch.Generator().manual_seed(0)
    draw = np.random.default_rng(0)
    ids = (draw.integers(0, len(store), batch) for _ in iter(int, 1))
    begin, done = None, 0
    warm = 3
    for count, some in enumerate(images.batches(ids)):
        if count == warm:
            clock.wait()
            begin = time.perf_counter()
        step(transform(some, generator).expand(-1, channels, -1, -1))
        if begin is not None:
            done += batch
            if time.perf_counter() - begin > 2 * clock.seconds:
                break
    clock.wait()
    return done / (time.perf_counter() - begin)


def evaluations(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Seconds to score a space by its ranks."""
    for name, (images, dim, classes, most) in scale.spaces.items():
        generator = torch.Generator(clock.device).manual_seed(0)
        draw = {"generator": generator, "device": clock.device}
        labels = torch.arange(images, device=clock.device) % classes
        vectors = torch.randn(classes, dim, **draw)[labels]
        vectors = vectors + 1.3 * torch.randn(images, dim, **draw)
        metrics = ["recall_at_1", "r_precision", "map_at_r"]
        evaluate(vectors[:5000], labels[:5000] % 50, metrics=metrics)
        begin = time.perf_counter()
        evaluate(vectors, labels, metrics=metrics)
        limit = most if clock.device.type == "cuda" else None
        yield Finding("evaluation", name, time.perf_counter() - begin, "s", most=limit)


def train_for(device: str, network: str, batch: int, pixels: int, seconds: float) -> None:
    """Train until the time is up, after a sign on standard output; print images a second."""
    torch.set_num_threads(1)
    clock = Clock(torch.device(device), seconds)
    step = Step(network, batch, pixels, "float32", "eager", clock.device)
    for _ in range(3):
        step()
    clock.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        step()
        clock.wait()
        done += batch
    print(json.dumps(done / (time.perf_counter() - begin)))


def together(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Images a second of several processes on one device, and the best number of them."""
    network, best = "convnet4", (0, 0.0)
    for jobs in scale.jobs:
        arguments = (clock.device.type, network, scale.networks[network], 28, clock.seconds)
        code = f"import gpu_rates; gpu_rates.train_for(*{arguments!r})"
        path = f"{Path(__file__).parent}:{REPOSITORY / 'workflow/scripts'}"
        command = ["env", f"PYTHONPATH={path}", sys.executable, "-c", code]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        running = [subprocess.Popen(command, **pipes) for _ in range(jobs)]
        for job in running:
            job.stdout.readline()
        for job in running:
            job.stdin.write("\n")
            job.stdin.flush()
        rate = sum(json.loads(job.communicate()[0].splitlines()[-1]) for job in running)
        yield Finding("together", f"{jobs} trainings of {network}", rate, "images/s")
        if rate > 1.05 * best[1]:
            best = (jobs, rate)
    yield Finding("together", "best runs_per_gpu", best[0], "trainings")
