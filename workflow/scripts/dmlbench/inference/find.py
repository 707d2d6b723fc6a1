"""The folder of a run, as a user names it."""

import difflib
import glob
from pathlib import Path

import pyarrow.compute as pc

from dmlbench.errors import UserError
from dmlbench.inference.run_folder import SPEC
from dmlbench.parquet import read_table
from dmlbench.plan import paths


def run_folder(name: str, results: Path) -> tuple[Path, str]:
    """The run that a name stands for, and how it was found, in words (empty for a path).

    Args:
        name: a run's folder, as it is or below `<results>/runs`; an exported .safetensors; the
            digest that a run's folder ends in; or a study, whose run with the highest R@1 is taken.
        results: the folder of results.

    Raises:
        UserError: no run or several of this name, a study without scores.
    """
    runs = results / paths.RUN.partition("/")[0]
    scores = results / paths.made("aggregate", "scores", study=name)
    # First, because a data set of the same name has a folder below `runs`.
    if scores.is_file():
        return _best(scores, runs)
    if name and scores.parent.is_dir() and "/" not in name:
        raise UserError(f"study {name}: not finished; allowed after: dmlbench run {name}")
    for path in (Path(name), runs / name):
        if path.is_file() or (path / SPEC).exists() or _has_begun(path, runs):
            return path, ""
    specs = runs.rglob(f"*-{glob.escape(name)}/{SPEC}") if name else ()
    folders = sorted({file.parent for file in specs})
    if len(folders) != 1:
        raise UserError(
            f"{name}: {len(folders)} runs{_nearest(name, results)}; allowed: the folder of a "
            f"finished run below {runs}, the digest at its end, or a finished study "
            f"({results}/studies/<study>/runs.csv lists its runs)"
        )
    return folders[0], f"run: {folders[0]}"


def _has_begun(path: Path, runs: Path) -> bool:
    """Whether a folder is that of a run, and not one above runs."""
    is_below = runs.resolve() in path.resolve().parents
    return path.is_dir() and is_below and not any(path.rglob(SPEC))


def _nearest(name: str, results: Path) -> str:
    """What may have been meant by a name, in words; empty if nothing is like it."""
    runs = results / paths.RUN.partition("/")[0]
    folders = [file.parent for file in runs.rglob(SPEC)]
    scores = results.glob(paths.made("aggregate", "scores", study="*"))
    names = [str(folder) for folder in folders]
    names += [str(folder.relative_to(runs)) for folder in folders]
    names += [folder.name.rpartition("-")[2] for folder in folders]
    names += [file.parent.name for file in scores]
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _best(scores: Path, runs: Path) -> tuple[Path, str]:
    rows = read_table(scores)
    of_tests = (pc.field("role") == "test") & (pc.field("metric") == "recall_at_1")
    listed = rows.filter(of_tests & (pc.field("fold") == "")).to_pylist()
    # Of a run's two scores, that of its own rule, whose weights are loaded.
    listed.sort(key=lambda row: row["selection"] != "last_epoch")
    own = {row["run"]: row for row in listed if row["run"]}
    if not own:
        raise UserError(f"{scores}: no run with an R@1; allowed: name a run's folder")
    best = max(own.values(), key=lambda row: row["value"])
    return runs / best["run"], (
        f"{best['method']}, seed {best['seed']}: of {len(own)} runs the one with the highest R@1, "
        f"{100 * best['value']:.1f}; as it was chosen by it, that number is optimistic\n"
        f"run: {runs / best['run']}"
    )
