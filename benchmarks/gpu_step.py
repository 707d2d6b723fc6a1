"""A training step on a device, and a clock that waits for it."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from dmlbench.losses import build_loss
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.catalogs.recipes import Optimizer
from dmlbench.training.device import use_precision
from dmlbench.training.optimization import build_optimizer
from dmlbench.training.seeds import make_deterministic
from step_memory import PIXELS, spec

PRECISIONS = ("float32", "tf32", "bfloat16")


class Scale(NamedTuple):
    """How large the check is.

    Attributes:
        networks: whose steps are timed, and with which large batches.
        few: images of a small batch, whose steps are timed as well: what a step costs beside its
            images.
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
    few: int
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


class Step:
    """A training step of a network on random images, as the training makes it: deterministic, once
    `make_deterministic` was called.

    Args:
        precision: one of PRECISIONS.
        mode: eager, channels_first, compiled or graphs (compiled, with CUDA graphs).
    """

    def __init__(
        self, network: str, batch: int, pixels: int, precision: str, mode: str, device: torch.device
    ):
        torch.manual_seed(0)
        use_precision(precision)
        made_of = spec(network, "bfloat16" if precision == "bfloat16" else "float32")
        self.network = Embedder(made_of).to(device).train()
        self.embed = self.network
        if mode == "channels_first":
            self.network.to(memory_format=torch.contiguous_format)
            self.network.normalized = lambda images: (images - self.network.mean) / self.network.std
        if mode in ("compiled", "graphs"):
            torch.compiler.reset()
            make_deterministic(compiled=True)
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


def size_of(network: str, scale: Scale) -> int:
    """Side of the images that a network is timed with."""
    own = PIXELS.get(network, scale.pixels)
    return min(own, scale.pixels) if own > 28 else own
