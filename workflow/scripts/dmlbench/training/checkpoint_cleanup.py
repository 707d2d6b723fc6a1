"""What a training leaves next to its results, until the run is scored."""

from pathlib import Path

CHECKPOINT = "checkpoint-{identity}.pt"


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a run, those of earlier specs too.

    Not as soon as it is trained: where training, embedding and scoring are one job of a cluster,
    Snakemake removes all of their results if the last of them fails, and from the checkpoint they
    are made again in seconds.
    """
    for path in Path(folder).glob(CHECKPOINT.format(identity="*")):
        path.unlink()
