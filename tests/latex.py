"""Compiling our tables with LaTeX."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest


def typeset(tables: Iterable[Path], folder: Path) -> Path:
    """A PDF of tables, one page each; skips without pdflatex."""
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex here (Debian: texlive-latex-recommended)")
    inputs = "".join(rf"\input{{{table}}}\clearpage" + "\n" for table in tables)
    document = folder / "tables.tex"
    document.write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n"
        f"\\begin{{document}}\n{inputs}\\end{{document}}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", document.name],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout
    return document.with_suffix(".pdf")
