"""Checkpoints: written whole after every epoch, so that a killed run loses one epoch at most."""

import io
import pickle
from pathlib import Path
from typing import Any

import torch

from dmlbench.errors import UserError
from dmlbench.files import whole
from dmlbench.plan.spec import Spec
from dmlbench.training.version import VERSION


class Checkpoint:
    """The checkpoint of one spec in a run's folder.

    Another spec, or another version of training, has another file: neither is ever taken for this
    one, and both are removed when the run is finished.
    """

    def __init__(self, folder: Path, spec: Spec):
        self.folder = folder
        self.identity = f"{spec.digest}-v{VERSION}"
        self.path = folder / f"checkpoint-{self.identity}.pt"

    def save(self, **parts: Any) -> None:
        """Write state dicts and plain values; the old checkpoint stays until this one is whole."""
        # Written by Python and not by torch, which hides the reason of a failed write.
        buffer = io.BytesIO()
        torch.save({"identity": self.identity, **parts}, buffer)
        with whole(self.path) as unfinished:
            unfinished.write_bytes(buffer.getbuffer())

    def load(self) -> dict | None:
        """What was saved last, or none.

        Raises:
            UserError: the file is damaged, or belongs to another spec.
        """
        if not self.path.exists():
            return None
        try:
            parts = torch.load(self.path, map_location="cpu", weights_only=True)
        except (RuntimeError, OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
            raise UserError(
                f"{self.path}: damaged checkpoint ({reason}); delete it to train from the start"
            ) from None
        if parts.pop("identity", None) != self.identity:
            raise UserError(
                f"{self.path}: checkpoint of another spec; expected {self.identity}; "
                "delete it to train from the start"
            )
        return parts

    def remove_all(self) -> None:
        """Remove the checkpoints of this run, those of earlier specs too."""
        for path in self.folder.glob("checkpoint-*.pt"):
            path.unlink()
