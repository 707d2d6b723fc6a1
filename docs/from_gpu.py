"""Write the table of training steps in docs/gpu.md from what a GPU measured; `make gpu-page`."""

import json
import re
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME / "workflow" / "scripts"))

from dmlbench.marked_text import write_marked  # noqa: E402

MEASURED = HOME / "results" / "benchmarks" / "gpu-nvidia-h200.json"
PAGE = HOME / "docs" / "gpu.md"
PRECISIONS = ("float32", "tf32", "bfloat16")
STEP = re.compile(r"(?P<network>\S+) (?P<pixels>\d+)px x(?P<batch>\d+) (?P<precision>\S+) eager")


def table() -> str:
    """Images per second of each network and batch, by precision."""
    rates: dict[tuple[str, int, int], dict[str, float]] = {}
    for found in json.loads(MEASURED.read_text())["findings"]:
        step = STEP.fullmatch(found["what"])
        if step and found["part"] == "steps":
            where = (step["network"], int(step["pixels"]), int(step["batch"]))
            rates.setdefault(where, {})[step["precision"]] = found["value"]
    lines = [
        "| network | pixels | batch | float32 | TF32 | bfloat16 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for (network, pixels, batch), by_precision in sorted(rates.items()):
        shown = [
            f"{by_precision[each]:,.0f}" if each in by_precision else "" for each in PRECISIONS
        ]
        lines.append(f"| {network} | {pixels} | {batch} | {' | '.join(shown)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    write_marked(PAGE, "from_gpu", table())
