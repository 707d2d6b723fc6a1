"""A GPU as `make gpu-check` timed it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dmlbench.errors import UserError
from dmlbench.plan.costs.devices import Device, StepTime, StepTimes

_REACHED = 0.4
"""What trainings reach of a large product, as a share of its operations per second: ResNet-50's."""

_STEP = re.compile(r"(\w+) (\d+)px x(\d+) (float32|tf32|bfloat16) eager")


class Step(NamedTuple):
    """A training step that was timed."""

    network: str
    pixels: int
    batch: int
    precision: str


def measured(*files: Path) -> dict[str, float]:
    """What was measured -> its value, of files of `make gpu-check`; a later file's counts."""
    findings = [
        each for file in files for each in json.loads(file.read_text(encoding="utf-8"))["findings"]
    ]
    return {each["what"]: each["value"] for each in findings if each["value"] is not None}


def steps(found: Mapping[str, float]) -> dict[Step, float]:
    """Images per second of each step among what was measured."""
    read = ((_STEP.fullmatch(what), rate) for what, rate in found.items())
    return {Step(s[1], int(s[2]), int(s[3]), s[4]): rate for s, rate in read if s}


def timed_gpu(file: Path, other: Device) -> Device:
    """The GPU of a file of `make gpu-check`.

    Args:
        other: has what a check does not time: the start of a training, and how much faster networks
            that were not timed train in other precisions.

    Raises:
        UserError: the file is absent, or is not of a whole check of a GPU.
    """
    try:
        found = measured(file)
        title = json.loads(file.read_text(encoding="utf-8"))["device"]
        product = found["product of 8192, float32"]
    except (OSError, ValueError, KeyError, TypeError):
        allowed = "a file that `make gpu-check` wrote, with the part steps, such as "
        allowed += "results/benchmarks/gpu-nvidia-h200.json"
        raise UserError(f"config.yaml: gpu_check: {file}; allowed: {allowed}") from None
    milliseconds: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for step, rate in steps(found).items():
        of_network = milliseconds.setdefault((step.network, step.pixels), {})
        of_network.setdefault(step.precision, {})[step.batch] = 1000 * step.batch / rate
    networks = {
        network: StepTimes(pixels=pixels, **{key: _line(each) for key, each in times.items()})
        for (network, pixels), times in milliseconds.items()
        if "float32" in times
    }
    return other.model_copy(
        update={
            "title": f"one {title}",
            "step": min((each.float32.step for each in networks.values()), default=other.step),
            "flops": 1e12 * _REACHED * product,
            "networks": networks,
        }
    )


def _line(times: Mapping[int, float]) -> StepTime:
    """The line through the milliseconds of a small and a large batch; of one alone, per image."""
    few, many = min(times), max(times)
    if few == many:
        return StepTime(image=times[many] / many)
    image = max(0.0, (times[many] - times[few]) / (many - few))
    return StepTime(step=max(0.0, times[few] - few * image), image=image)
