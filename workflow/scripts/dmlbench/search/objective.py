"""The validation score of a training, as what a search maximizes."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from dmlbench.plan.searches import with_values
from dmlbench.search.trials import Values
from dmlbench.search.worker import Report
from dmlbench.training.leftovers import remove_checkpoints
from dmlbench.training.loop import Trainer, train


class TrainingObjective:
    """A trial is a training in a folder of its own, so that a repeated one continues.

    Args:
        spec: plain values of a trial's spec, without the searched ones.
        folder: holds a folder for each trial, by number.
        arguments: of `dmlbench.training.loop.train`: data, device and threads.
    """

    def __init__(self, spec: dict, folder: Path, arguments: dict):
        self.spec, self.folder, self.arguments = spec, folder, arguments

    def evaluate(self, number: int, values: Values, report: Report) -> float:
        """Train; the score is that of the best epoch on validation images.

        Raises:
            NonFiniteLossError: these values give no number.
            UserError: as `train`.
        """
        metric = self.spec["selection_metric"]
        reported = set()

        def after_epoch(trainer: Trainer) -> None:
            # Epochs before an interruption too: their report may be what was interrupted.
            for row in trainer.history:
                if row["epoch"] not in reported and row.get(metric) is not None:
                    reported.add(row["epoch"])
                    report(row["epoch"], row[metric])

        spec = with_values(self.spec, values)
        files = train_in(self.folder / str(number), spec, self.arguments, after_epoch=after_epoch)
        scores = pq.read_table(files["history"])[metric].to_pylist()
        return max(score for score in scores if score is not None)

    def clear(self, kept: set[int]) -> None:
        """Remove the folders of all trials but these."""
        for folder in self.folder.glob("*"):
            if int(folder.name) not in kept:
                shutil.rmtree(folder)


def train_in(folder: Path, spec: dict, arguments: dict, **hooks) -> dict[str, Path]:
    """Train in a folder unless that is done; returns the files by their name in `train`."""
    files = {
        "spec_file": folder / "spec.yaml",
        "model": folder / "model.safetensors",
        "last": folder / "last.safetensors",
        "history": folder / "history.parquet",
    }
    # The last of them to be written.
    if not files["last"].exists():
        folder.mkdir(parents=True, exist_ok=True)
        train(spec, **arguments, **files, **hooks)
        remove_checkpoints(folder)
    return files
