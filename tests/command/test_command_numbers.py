"""The command `dmlbench` on numbers from elsewhere, as a program of its own."""

import subprocess
import sys
import time

import numpy as np
import pytest
from dmlbench.command import main
from project import REPOSITORY

LIBRARY = str(REPOSITORY / "workflow" / "scripts")


def dmlbench(*arguments, cwd, before=""):
    """Call the command without the project's folder as the working one."""
    code = f"import sys; sys.path.insert(0, {LIBRARY!r}); {before}\n"
    code += "from dmlbench.command import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


WITHOUT_TORCH = """
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision", "snakemake"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
"""
"""Importing one of these fails."""


@pytest.fixture
def files(tmp_path):
    generator = np.random.default_rng(0)
    classes = np.repeat(np.arange(10), 8)
    for name, noise in (("a", 1.0), ("b", 0.5)):
        rows = np.eye(10)[classes] * 2 + noise * generator.normal(size=(80, 10))
        np.save(tmp_path / f"{name}.npy", rows)
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(map(str, classes)))
    lines = [
        f"{method},birds,{split},0,R@1,{60 + 5 * place + generator.normal():.2f}"
        for place, method in enumerate(("mine", "theirs"))
        for split in range(4)
    ]
    (tmp_path / "r.csv").write_text("\n".join(["method,data,split,seed,metric,value", *lines]))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "a.npy", "labels.csv"], "| R@1 (%)"),
        (["compare", "a.npy", "b.npy", "labels.csv"], "b is "),
        (["referee", "r.csv", "--about", "classes"], "theirs is "),
    ],
)
def test_numbers_are_judged_without_torch_and_without_a_workflow(files, arguments, words):
    done = dmlbench(*arguments, "--output=out.tex", cwd=files, before=WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert done.stderr == "written: out.tex\n"
    assert r"\begin{tabular}" in (files / "out.tex").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scor"], "Did you mean 'score'?"),
        (["score", "a.npy", "labels.csv", "--distence", "cosine"], "Did you mean '--distance'?"),
        (["score", "a.npy", "labels.csv", "--distance", "manhattan"], "'cosine', 'euclidean'"),
        (["score", "a.npy"], "LABELS is missing"),
        (["score", "a.npy", "labels.csv", "--metric", "recal_at_1"], "unknown metric"),
        (["compare", "a.npy", "b.npy", "labels.csv", "--margin", "0"], "--margin"),
        (["referee", "r.csv", "--against", "their"], "did you mean 'theirs'?"),
        (["referee", "absent.csv"], "absent.csv: no such file"),
        (["referee", "r.csv", "--output", "tables.csv"], "allowed: a name in .md, .tex"),
    ],
)
def test_what_cannot_be_done_is_one_line(files, monkeypatch, arguments, words):
    monkeypatch.chdir(files)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = ended.value.code
    assert said.startswith("dmlbench: ")
    assert "\n" not in said
    assert words in said


def test_help_is_there_at_once_and_imports_nothing_slow(files):
    start = time.monotonic()
    after = "import atexit; atexit.register(lambda: print(sorted({*sys.modules} & SLOW)));"
    slow = "SLOW = {'torch', 'pandas', 'numpy', 'scipy', 'snakemake'};"
    done = dmlbench("--help", cwd=files, before=slow + after)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(command in done.stdout for command in ("score", "compare", "referee"))
    # A second, and the start of a Python on a busy machine.
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_commands(files, shell):
    done = dmlbench("completion", shell, cwd=files)
    assert "_DMLBENCH_COMPLETE" in done.stdout
