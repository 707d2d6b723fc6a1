"""Write the table of training steps in docs/gpu.md from what a GPU measured; `make gpu-page`."""

import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME / "workflow" / "scripts"))

from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.costs import timed_gpu  # noqa: E402

MEASURED = ("gpu-nvidia-h200.json", "gpu-nvidia-h200-steps.json")
"""In results/benchmarks; a later run's number counts."""
PAGE = HOME / "docs" / "gpu.md"
PRECISIONS = ("float32", "tf32", "bfloat16")


def measured() -> dict[str, float]:
    """What was measured -> its value."""
    return timed_gpu.measured(*(HOME / "results" / "benchmarks" / name for name in MEASURED))


def table() -> str:
    """Images per second of each network and batch, by precision."""
    rates: dict[tuple[str, int, int], dict[str, float]] = {}
    for step, rate in timed_gpu.steps(measured()).items():
        rates.setdefault(step[:3], {})[step.precision] = rate
    lines = [
        "| network | pixels | batch | float32 | TF32 | bfloat16 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for where, rate in sorted(rates.items()):
        shown = [f"{rate[each]:,.0f}" if each in rate else "" for each in PRECISIONS]
        lines.append(f"| {' | '.join([*map(str, where), *shown])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    write_marked(PAGE, "from_gpu", table())
