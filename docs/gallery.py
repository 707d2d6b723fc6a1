"""Write the sections of docs/gallery.md and their pictures; `make gallery` runs this."""

import inspect
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import from_plan
import torch
from dmlbench import registry
from dmlbench.losses import available, build_loss
from dmlbench.marked_text import write_marked
from dmlbench.plan import Plan, Spec
from torch import Tensor, nn

DOCS = Path(__file__).resolve().parent
PAGE, PICTURES = DOCS / "gallery.md", DOCS / "gallery"
TIMES = DOCS.parent / "results" / "benchmarks" / "losses.json"

# Radius and angle in degrees of the points of each class: some are nearer to another class.
POINTS = (
    ((1.0, 80), (0.8, 125), (1.1, 340)),
    ((0.9, 200), (1.15, 165), (0.75, 280)),
    ((1.05, 310), (0.85, 20), (1.0, 235)),
)
COLORS = ("#0072b2", "#d55e00", "#009e73")
SIZE, UNIT, LONGEST = 240, 80, 36  # pixels of a picture, of length 1, and of the longest arrow


def sections() -> str:
    """The text between the markers of the page."""
    measured = json.loads(TIMES.read_text())
    machine = "{cpu}, {threads} threads, torch {torch}".format(**measured["machine"])
    costs: dict[str, list[str]] = {}
    for row in measured["rows"]:
        peak = f" ({row['ours_peak_mib']:.0f} MiB)" if "ours_peak_mib" in row else ""
        text = f"{row['ours_ms']:.2g} ms{peak} at {row['setup']}"
        costs.setdefault(row["loss"], []).append(text)
    loaded = from_plan.load_plan()
    trained = {study: from_plan.protocol(loaded, study) for study in from_plan.STUDIES}
    parts = [
        "Cost is that of a loss and its gradient, on unit-length embeddings with 512 dimensions "
        f"and 5 images per class; measured on {machine}."
    ]
    for name in available():
        parts.append("\n".join(_section(name, loaded, trained, costs.get(name, []))))
    return "\n\n".join(parts)


def _section(
    name: str, loaded: Plan, trained: dict[str, from_plan.Protocol], costs: list[str]
) -> Iterator[str]:
    loss = type(build_loss(name, num_classes=3, embedding_dim=2))
    yield f"## {name}\n\n{inspect.getdoc(inspect.getmodule(loss))}\n"
    yield f"![forces of {name} on nine points](gallery/{name}.svg)\n"
    yield f"```text\n{inspect.getdoc(loss)}\n```\n"
    yield f"    {call(name)}\n"
    taken = registry.annotation("losses", name, "forward", "tuples")
    yield f"- **Takes** {taken.removesuffix(' | None').lower() if taken else 'no tuples'}"
    yield f"- **Year** {_year(name, loaded, trained, inspect.getdoc(loss))}"
    if costs:
        yield f"- **Cost** {'; '.join(costs)}"
    for study, rows in trained.items():
        options = dict.fromkeys(_options(spec) for _, spec in rows if spec.loss.name == name)
        if options:
            yield f"- **[{study}]({study}.md)** {' or '.join(options)}"


def _year(name: str, loaded: Plan, trained: dict[str, from_plan.Protocol], text: str) -> int:
    """That of the methods with this loss; without one, of the oldest source that it names."""
    of_loss = [method for method in loaded.methods.values() if method.loss]
    methods = [method for method in of_loss if method.loss.name == name]
    for rows in trained.values():
        methods += [loaded.methods[row.method] for row, spec in rows if spec.loss.name == name]
    years = [method.year for method in methods if method.year]
    return min(years or map(int, re.findall(r"(?:19|20)\d\d", text)))


def call(name: str) -> str:
    """The line that builds a loss, with its options' defaults."""
    options = registry.options("losses", name).items()
    given = "".join(f", {key}={option.default!r}" for key, option in options)
    return f'loss = build_loss("{name}", num_classes=10, embedding_dim=64{given})'


def _options(spec: Spec) -> str:
    values = ", ".join(f"{key} {_short(value)}" for key, value in spec.loss.hyperparameters.items())
    return (values or "no options") + (f", miner `{spec.miner.name}`" if spec.miner else "")


def _short(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def picture(name: str) -> str:
    """The forces of a loss on the nine points, as SVG."""
    polar = torch.tensor(POINTS, dtype=torch.float64).flatten(0, 1)
    angles = torch.deg2rad(polar[:, 1])
    points = polar[:, :1] * torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.arange(3).repeat_interleave(3)
    loss = build_loss(name, num_classes=3, embedding_dim=2).double()
    proxies = _at_class_means(loss, points)
    points.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(points, labels), points)
    steps = -gradient / gradient.norm(dim=1).max() * LONGEST / UNIT
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" '
        f'height="{SIZE}">',
        f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>',
        f'<circle cx="{SIZE // 2}" cy="{SIZE // 2}" r="{UNIT}" fill="none" stroke="#bbb"/>',
    ]
    for (x, y), color in zip(map(_place, proxies), COLORS, strict=False):
        drawn.append(
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="none" '
            f'stroke="{color}"/>'
        )
    for point, step, label in zip(points.detach(), steps, labels, strict=True):
        (x, y), color = _place(point), COLORS[label]
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>')
        if step.norm() * UNIT > 1:
            drawn.append(f'<path d="{_arrow(point, step)}" stroke="{color}" fill="none"/>')
    return "\n".join([*drawn, "</svg>\n"])


def _at_class_means(loss: nn.Module, points: Tensor) -> Tensor:
    """Move a loss's proxies to the mean directions of the classes: [3, 2], or [0, 2] if none."""
    means = nn.functional.normalize(points.view(3, 3, 2).mean(1), dim=1)
    vectors = [each for each in loss.parameters() if each.shape[-2:] == means.shape]
    for each in vectors:
        each.data.copy_(means.expand_as(each))
    return means if vectors else means[:0]


def _place(point: Tensor) -> tuple[float, float]:
    x, y = point.tolist()
    return SIZE / 2 + UNIT * x, SIZE / 2 - UNIT * y


def _arrow(point: Tensor, step: Tensor) -> str:
    """A line with a head of 5 pixels."""
    (x0, y0), (x, y) = _place(point), _place(point + step)
    angle = math.atan2(y - y0, x - x0)
    sides = [
        (x - 5 * math.cos(angle + turn), y - 5 * math.sin(angle + turn)) for turn in (0.5, -0.5)
    ]
    (ax, ay), (bx, by) = sides
    return f"M{x0:.1f} {y0:.1f}L{x:.1f} {y:.1f}M{ax:.1f} {ay:.1f}L{x:.1f} {y:.1f}L{bx:.1f} {by:.1f}"


if __name__ == "__main__":
    write_marked(PAGE, "gallery", sections())
    PICTURES.mkdir(exist_ok=True)
    for file in {*PICTURES.glob("*.svg")} - {PICTURES / f"{name}.svg" for name in available()}:
        file.unlink()
    for name in available():
        (PICTURES / f"{name}.svg").write_text(picture(name))
