"""How fast a device makes steps, losses and scores, next to a ceiling of the same run; memory."""

import gc
import itertools
import statistics
import time
from collections.abc import Iterator

import torch
import yaml
from dmlbench.evaluation import evaluate
from dmlbench.losses import build_loss
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.costs.memory_model import OVERHEAD, Memory
from dmlbench.training.device import use_precision
from dmlbench.training.seeds import make_deterministic
from gpu_report import Budget, Finding, attempted
from gpu_step import PRECISIONS, Clock, Scale, Step, size_of
from step_memory import REPOSITORY, Live, spec

CONFIG = REPOSITORY / "config"
MADDS = yaml.safe_load((CONFIG / "costs.yaml").read_text())["networks"]

_WARM_CLASSES = 2500
_EXPECTED = {"eager": 10, "channels_first": 10, "compiled": 90, "graphs": 90}
"""Seconds that the first of a kind of steps may take; compiling is most of them. Assumed."""


def ceiling(clock: Clock, side: int, best: dict[str, float]) -> Iterator[Finding]:
    """Operations a second of a large product, which `best` is given by precision."""
    for precision in PRECISIONS:
        use_precision(precision)
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        left, right = (torch.randn(side, side, device=clock.device).to(dtype) for _ in range(2))
        best[precision] = 2 * side**3 / clock.each(lambda a=left, b=right: a @ b)
        rate = best[precision] / 1e12
        yield Finding("ceiling", f"product of {side}, {precision}", rate, "TFLOP/s")
    use_precision("float32")


def step_rates(clock: Clock, scale: Scale, best: dict[str, float]) -> Iterator[Finding]:
    """Images a second of training steps, and the share of the ceiling; memory next to the plan's.

    Args:
        best: operations a second at most, by precision.
    """
    memory = read_yaml(CONFIG / "memory.yaml", Memory)
    for network, batch in scale.networks.items():
        for precision in PRECISIONS:
            for size in (scale.few, batch):
                yield from _steps(clock, scale, best, network, size, precision, "eager")
        for precision in ("float32", "bfloat16"):
            pixels = size_of(network, scale)
            made_of = spec(network, precision)
            crop = {"name": "center_crop", "size": pixels}
            values = made_of.as_dict() | {
                "batch_size": batch,
                "transforms": {"train": [crop], "test": []},
            }
            predicted = memory.of_training(network, type(made_of).model_validate(values))
            found = _memory(clock, network, batch, pixels, precision, predicted)
            yield from attempted("memory", f"{network} {precision}", found)
    use_precision("float32")
    if clock.device.type == "cuda":
        yield Finding("memory", "next to what torch reserves", _next_to_tensors() / 1e9, "GB")


def other_step_rates(
    clock: Clock, scale: Scale, best: dict[str, float], budget: Budget
) -> Iterator[Finding]:
    """The same channels first, compiled and with CUDA graphs, while there is time."""
    made = ["compiled", "graphs"] if clock.device.type == "cuda" else ["compiled"]
    fast, *others = reversed(PRECISIONS)
    wanted = [
        *itertools.product(scale.compiled, [fast], made),
        *itertools.product(scale.networks, PRECISIONS, ["channels_first"]),
        *itertools.product(scale.compiled, others, made),
    ]
    for network, precision, mode in wanted:
        batch = scale.networks[network]
        found = _steps(clock, scale, best, network, batch, precision, mode)
        what = f"{network} {precision} {mode}"
        yield from budget.attempted("steps", what, (network, mode), _EXPECTED[mode], found)
    use_precision("float32")


def _steps(
    clock: Clock,
    scale: Scale,
    best: dict[str, float],
    network: str,
    batch: int,
    precision: str,
    mode: str,
) -> Iterator[Finding]:
    how = (batch, size_of(network, scale), precision, mode)
    what = f"{network} {how[1]}px x{how[0]} {precision} {mode}"
    yield from attempted("steps", what, _of_step(clock, network, how, what, best))


def _of_step(clock: Clock, network: str, how: tuple, what: str, best: dict) -> Iterator[Finding]:
    batch, pixels, precision, mode = how
    step = Step(network, batch, pixels, precision, mode, clock.device)
    rate = batch / clock.each(step)
    yield Finding("steps", what, rate, "images/s")
    operations = 6e9 * MADDS[network]["multiply_adds"] * (pixels / MADDS[network]["pixels"]) ** 2
    if precision in best:
        share = rate * operations / best[precision]
        yield Finding("steps", f"{what}, of the ceiling", share, "share")


def _memory(
    clock: Clock, network: str, batch: int, pixels: int, precision: str, predicted: float
) -> Iterator[Finding]:
    """The plan's estimate next to what a process with a step takes, tensors and the rest.

    Too little is worse than too much: a small network is mostly `OVERHEAD`.
    """
    what = f"{network} {pixels}px x{batch} {precision}, predicted"
    # A network of before, freed meanwhile, would count as memory that this one does without.
    gc.collect()
    if clock.device.type == "cuda":
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step = Step(network, batch, pixels, precision, "eager", clock.device)
        step(), step()
        measured = torch.cuda.max_memory_allocated() - before + _next_to_tensors()
    else:
        predicted -= OVERHEAD
        with Live() as live:
            step = Step(network, batch, pixels, precision, "eager", clock.device)
            for tensor in (*step.network.parameters(), *step.network.buffers()):
                live.add(tensor)
            step(), step()
            measured = live.peak
    yield Finding("memory", what, predicted / measured, "of measured", least=0.9, most=2)


def _next_to_tensors() -> int:
    """Bytes that this process, if it is alone, takes of a GPU and torch has not reserved."""
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


def loss_shares(clock: Clock, scale: Scale, names: list[str]) -> Iterator[Finding]:
    """The time of a loss, forward and backward, as a share of a ResNet-50 step."""
    batch, classes, dim = scale.batch
    network = "resnet50" if "resnet50" in scale.networks else next(iter(scale.networks))
    step = Step(network, batch, size_of(network, scale), "float32", "eager", clock.device)
    whole = clock.each(step)
    embeddings = torch.nn.functional.normalize(torch.randn(batch, dim, device=clock.device))
    labels = torch.arange(batch, device=clock.device) // 5
    quick = Clock(clock.device, clock.seconds / 10)
    # At toy size a step is that of a toy network.
    most = 0.03 if network == "resnet50" else None

    def share(name: str) -> Iterator[Finding]:
        loss = build_loss(name, num_classes=classes, embedding_dim=dim).to(clock.device)
        seconds = quick.each(lambda: _learn(loss, embeddings, labels))
        what = f"{name}, of a step of {network}"
        yield Finding("loss share", what, seconds / whole, "share", most=most)

    for name in names:
        yield from attempted("loss share", name, share(name))


def _learn(loss: torch.nn.Module, embeddings: torch.Tensor, labels: torch.Tensor) -> None:
    loss.zero_grad(set_to_none=True)
    loss(embeddings.detach().requires_grad_(), labels).backward()


def library_ratios(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """How many times as long pytorch-metric-learning's losses take."""
    from losses import Case, cases

    batch, classes, _ = scale.batch
    embeddings = torch.nn.functional.normalize(torch.randn(batch, 512, device=clock.device))
    # Equally many of each class in batches of 128 and 40: the library's smooth_ap takes no others.
    labels = torch.arange(batch, device=clock.device) // 4
    quick, ratios = Clock(clock.device, clock.seconds / 10), []

    def ratio(case: Case) -> Iterator[Finding]:
        context = {"num_classes": classes, "embedding_dim": 512}
        ours = build_loss(case.ours, **context, **case.hyperparameters).to(clock.device)
        theirs = case.library(classes).to(clock.device)
        mine = quick.each(lambda: _learn(ours, embeddings, labels))
        # The library promises no determinism.
        torch.set_deterministic_debug_mode("default")
        try:
            ratios.append(quick.each(lambda: _learn(theirs, embeddings, labels)) / mine)
        finally:
            make_deterministic()
        yield Finding("library", case.ours, ratios[-1], "x our time")

    for case in cases():
        if case.library is None or (scale.library and case.ours not in scale.library):
            continue
        if case.library_copies and batch > 256:
            continue  # its step takes batch^3 numbers
        yield from attempted("library", case.ours, ratio(case))
    least = 1 if clock.device.type == "cuda" else None
    yield Finding("library", "median", statistics.median(ratios), "x our time", least=least)


def evaluations(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Seconds to score a space by its ranks."""
    for name, space in scale.spaces.items():
        yield from attempted("evaluation", name, _evaluation(clock, name, *space))


def _evaluation(
    clock: Clock, name: str, images: int, dim: int, classes: int, most: float
) -> Iterator[Finding]:
    generator = torch.Generator(clock.device).manual_seed(0)
    draw = {"generator": generator, "device": clock.device}
    labels = torch.arange(images, device=clock.device) % classes
    vectors = torch.randn(classes, dim, **draw)[labels]
    vectors = vectors + 1.3 * torch.randn(images, dim, **draw)
    metrics = ["recall_at_1", "r_precision", "map_at_r"]
    # Enough images for the rounded products as well, whose kernels are loaded at their first use.
    some = labels < _WARM_CLASSES
    evaluate(vectors[some], labels[some], metrics=metrics)
    clock.wait()
    begin = time.perf_counter()
    evaluate(vectors, labels, metrics=metrics)
    limit = most if clock.device.type == "cuda" else None
    yield Finding("evaluation", name, time.perf_counter() - begin, "s", most=limit)
