"""The validation score of a training, or of one in every fold, as what a search maximizes."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq

from dmlbench.plan.places import with_values
from dmlbench.search.distributions import Values
from dmlbench.search.worker import Report
from dmlbench.training.loop import train
from dmlbench.training.watch import LossError


class TrainingObjective:
    """A trial trains every fold in its own folder, so that a repeated trial continues.

    Args:
        specs: plain values of a trial's spec in each fold, without the searched ones.
        folder: holds a folder for each trial, by number.
        arguments: of `dmlbench.training.loop.train`: data, device and threads.
    """

    def __init__(self, specs: Sequence[dict], folder: Path, arguments: dict):
        self.specs, self.folder, self.arguments = specs, folder, arguments

    def evaluate(self, number: int, values: Values, report: Report) -> float:
        """Train the folds one after the other; the score is the mean of their best epochs' scores.

        An epoch that is scored on validation images is reported with the mean over the folds so
        far: the best scores of the finished ones, and this epoch's of the fold in training. Steps
        count epochs through all folds: with three epochs per fold, the second fold's first is the
        fourth, even if patience ended the first fold before its third. So a pruner compares trials
        at equal progress; with one fold, steps are epochs and means their scores.

        Raises:
            LossError: these values give no finite loss, or none but 0, in one of the folds.
            UserError: as `train`.
        """
        bests: list[float] = []
        steps = 0
        for position, spec in enumerate(self.specs):
            spec = with_values(spec, values)
            of_fold = _of_fold(report, steps, list(bests))
            bests.append(self._train(self.folder / str(number) / str(position), spec, of_fold))
            steps += spec["epochs"]
        return fmean(bests)

    def clear(self, kept: set[int]) -> None:
        """Remove the folders of all trials except these."""
        for folder in self.folder.glob("*"):
            if int(folder.name) not in kept:
                shutil.rmtree(folder)

    def _train(self, folder: Path, spec: dict, report: Report) -> float:
        """The best epoch's score of a training, which is finished here if necessary."""
        report_new = _once_each(report, spec["selection_metric"])
        files = {
            "spec_file": folder / "spec.yaml",
            "model": folder / "model.safetensors",
            "history": folder / "history.parquet",
            "last": folder / "last.safetensors",
        }
        # It is written last.
        if not files["last"].exists():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                train(
                    spec,
                    **self.arguments,
                    **files,
                    after_epoch=lambda trainer: report_new(trainer.history),
                )
            except LossError as error:
                if len(self.specs) == 1:
                    raise
                raise LossError(f"fold {spec['fold']}: {error}") from None
        history = pq.read_table(files["history"]).to_pylist()
        # A lost worker may have trained epochs without reporting them.
        report_new(history)
        return max(score for _, score in _scored(history, spec["selection_metric"]))


def _of_fold(report: Report, steps: int, bests: Sequence[float]) -> Report:
    """A fold's epochs as steps of the trial, and its scores as means with those of other folds."""
    return lambda epoch, score: report(steps + epoch, fmean([*bests, score]))


def _once_each(report: Report, metric: str) -> Callable[[list[dict]], None]:
    """A function that reports each row of a growing history once."""
    reported = set()

    def report_new(history: list[dict]) -> None:
        for epoch, score in _scored(history, metric):
            if epoch not in reported:
                reported.add(epoch)
                report(epoch, score)

    return report_new


def _scored(history: list[dict], metric: str) -> list[tuple[int, float]]:
    """The scored epochs, with their scores."""
    return [(row["epoch"], row[metric]) for row in history if row.get(metric) is not None]
