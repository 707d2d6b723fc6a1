"""The folder of a run, as a user names it."""

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
    for path in (Path(name), runs / name):
        if path.exists():
            return path, ""
    specs = runs.rglob(f"*-{glob.escape(name)}/{SPEC}") if name else ()
    folders = sorted({file.parent for file in specs})
    if len(folders) != 1:
        raise UserError(
            f"RUN={name}: {len(folders)} runs; allowed: the folder of a finished run below {runs}, "
            f"the digest at its end, or a finished study ({results}/studies/<study>/runs.csv "
            "lists its runs)"
        )
    return folders[0], f"run: {folders[0]}"


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
