"""Removal of the checkpoints that a training leaves until its run is scored."""

from pathlib import Path

CHECKPOINT = "checkpoint-{identity}.pt"


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a run, including those of earlier specs.

    Not called as soon as the run is trained: if training, embedding and scoring are one cluster
    job, Snakemake removes all their results when the last one fails, and with the checkpoint
    they are restored in seconds.
    """
    for path in Path(folder).glob(CHECKPOINT.format(identity="*")):
        path.unlink()
