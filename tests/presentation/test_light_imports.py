"""What scores, tables, tournament and report must not load: jobs without torch start sooner."""

import subprocess
import sys

import pytest

NUMBERS = (
    "dmlbench.evaluation.run_scores",
    "dmlbench.statistics.aggregation",
    "dmlbench.statistics.audit",
    "dmlbench.statistics.tournament",
    "dmlbench.presentation.table",
    "dmlbench.presentation.tables.scores",
    "dmlbench.presentation.tables.ranks",
    "dmlbench.presentation.report",
    "dmlbench.presentation.terminal",
)
PICTURES = (
    "dmlbench.presentation.style",
    "dmlbench.presentation.embedding_map",
    "dmlbench.presentation.figures.bar",
    "dmlbench.presentation.figures.line",
)


VIEWS = (
    "dmlbench.presentation.view_files",
    "dmlbench.presentation.tables.scores",
    "dmlbench.evaluation.run_scores",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        (NUMBERS, ("torch", "matplotlib", "sklearn")),
        (PICTURES, ("torch",)),
        (VIEWS, ("torch", "matplotlib", "scipy.stats")),
    ],
)
def test_heavy_packages_stay_out(modules, heavy):
    code = f"import sys, {', '.join(modules)}; print([m for m in {heavy} if m in sys.modules])"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
