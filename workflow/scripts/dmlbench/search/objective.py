"""What a search maximizes: the validation score of a training, or its mean over folds."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq

from dmlbench.plan.catalogs.places import with_values
from dmlbench.search.distributions import Values
from dmlbench.search.worker import Report
from dmlbench.training.loop import train
from dmlbench.training.watch import LossError


class TrainingObjective:
    """Each fold of a trial trains in its own folder, so that a trial that starts again continues.

    Args:
        specs: plain values of a trial's spec in each fold, without the searched ones.
        folder: holds a folder for each trial, by number.
        arguments: of `dmlbench.training.loop.train`: data, device and threads.
    """

    def __init__(self, specs: Sequence[dict], folder: Path, arguments: dict):
        self.specs, self.folder, self.arguments = specs, folder, arguments

    def evaluate(self, number: int, values: Values, report: Report) -> float:
        """Train the folds one after the other; the score is the mean of their best epochs' scores.

        Every epoch that is scored on validation images is reported as a step with a score. The
        score is the mean of the finished folds' best scores and this epoch's score. The step counts
        epochs as if all folds ran to their ends: with three epochs per fold, the second fold begins
        with step 4, even if patience ended the first fold early. So a pruner compares trials at
        equal progress.

        Raises:
            LossError: in one of the folds the loss is not finite, or always 0.
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
        # `train` writes this file last.
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
    """Report a fold's epochs as steps of its trial, and its scores as means over the folds."""
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
