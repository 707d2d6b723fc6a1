"""Checkpoints, written after every epoch and within long ones, so that little is lost."""

import hashlib
import io
import logging
import time
from pathlib import Path
from typing import Any

import torch

from dmlbench.distributed import rank
from dmlbench.files import atomic_write
from dmlbench.training.checkpoint_cleanup import CHECKPOINT
from dmlbench.training.version import VERSION

INTERVAL = 600
"""Seconds after which a checkpoint is due within an epoch."""

FORMAT = 2
"""Raised when the content of checkpoints changes: older ones are then ignored."""

_COMPUTED_BY = "computed by"

_log = logging.getLogger(__name__)


class Checkpoint:
    """The checkpoint of one training in a folder.

    Each training and each version of training has its own file, so none is mistaken for another,
    and all are removed once the run is scored. The file begins with the SHA-256 of the training's
    identity, the format and the content.

    Args:
        folder: of the run.
        training: identifies the training in the file name: a spec's digest, or another word.
        conditions: what the last digits depend on: device, threads, instruction set, versions.

    Attributes:
        computed_by: the conditions of the training so far, one after another; another one is added
            if it is resumed under other conditions.
    """

    def __init__(self, folder: Path, training: str, conditions: str = ""):
        self.computed_by = [conditions]
        self.folder = folder
        self.identity = f"{training}-v{VERSION}"
        self.path = folder / CHECKPOINT.format(identity=self.identity)
        self._written = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the last one, or the start, was long enough ago."""
        return time.monotonic() - self._written >= INTERVAL

    def save(self, **parts: Any) -> None:
        """Write state dicts and plain values; the old checkpoint stays until they are written.

        Of several processes only the first writes: all are in the same state.
        """
        if rank() > 0:
            return
        # Written by Python, because torch hides the reason of a failed write.
        buffer = io.BytesIO()
        torch.save(parts | {_COMPUTED_BY: self.computed_by}, buffer)
        content = buffer.getbuffer()
        with atomic_write(self.path) as unfinished, open(unfinished, "wb") as file:
            file.write(self._digest(content))
            file.write(content)
        self._written = time.monotonic()

    def load(self) -> dict | None:
        """What was saved last; None if there is nothing, or if the file is damaged."""
        if not self.path.exists():
            return None
        written = memoryview(self.path.read_bytes())
        size = hashlib.sha256().digest_size
        if written[:size] != self._digest(written[size:]):
            _log.warning("%s: damaged, or of another training: starting over", self.path)
            return None
        parts = torch.load(io.BytesIO(written[size:]), map_location="cpu", weights_only=True)
        before, now = parts.pop(_COMPUTED_BY, self.computed_by), self.computed_by[-1]
        if before[-1] != now:
            _log.warning(
                "resumed under other conditions, so its last digits are those of neither: %s; "
                "before: %s",
                now,
                before[-1],
            )
        self.computed_by = before if before[-1] == now else [*before, now]
        return parts

    def _digest(self, content: memoryview) -> bytes:
        digest = hashlib.sha256(f"{self.identity}, format {FORMAT}".encode())
        digest.update(content)
        return digest.digest()
