"""The evaluation stays within the given memory."""

import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak as Linux gives it")
@pytest.mark.parametrize("memory", [2**26, 2**28])
@pytest.mark.parametrize("distinct", [1, 10, 30_000])
def test_memory_is_kept_to(memory, distinct):
    """All similarities would take 3.6 GB in float32. Few distinct rows: nearly all are ties."""
    code = (
        f"import sys; sys.path[:0] = [{str(LIBRARY)!r}, {str(BENCHMARKS)!r}]\n"
        "import numpy as np\n"
        "from machine import peak_memory\n"
        "from dmlbench.evaluation import evaluate\n"
        "r = np.random.default_rng(0); y = r.integers(0, 3000, 30_000)\n"
        f"x = r.standard_normal(({distinct}, 32), dtype=np.float32)\n"
        f"x = x[np.arange(30_000) % {distinct}]\n"
        "names = ['recall_at_1000', 'map_at_r', 'map_at_1000']\n"
        "import dmlbench.evaluation.walk\n"  # small calls do not load torch
        f"evaluate(x[:5000], y[:5000] % 500, metrics=names, memory={memory})\n"
        "before = peak_memory()\n"
        f"evaluate(x, y, metrics=names, memory={memory})\n"
        "print(peak_memory() - before)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    first_use = 2**26  # of kernels and threads, by CPU; a small call does not start them
    assert int(output) < memory + 2 * 30_000 * 32 * 4 + first_use
