"""The latest embedding of each training image, for the samplers that choose by embeddings."""

import numpy as np
import torch

from dmlbench.errors import UserError
from dmlbench.tensors import array, integers


class EmbeddingMemory:
    """A table of embeddings, one row per image (or class), kept up to date by the training.

    roth2020, section 3.2: training batches overwrite their images' rows, so that a row dates from
    the image's last batch. `state_dict` and `load_state_dict` make a resumed training choose the
    same batches as an uninterrupted one.

    Attributes:
        known: bool [rows], True where an embedding has been stored.
        embeddings: float32 [rows, D], or None before the first update.
    """

    def __init__(self, rows: int):
        self.known = np.zeros(rows, dtype=bool)
        self.embeddings: np.ndarray | None = None

    def update(self, indices, embeddings) -> None:
        """Store the embeddings [B, D] (tensor, array or list, any float type) of these rows [B].

        If an index occurs twice, the last embedding is kept.

        Raises:
            UserError: an index beyond the table, or a different D than before.
        """
        indices = integers("embedding memory: indices", indices)
        embeddings = array("embedding memory: embeddings", embeddings).astype(np.float32)
        rows = len(self.known)
        if len(indices) and not 0 <= indices.min() <= indices.max() < rows:
            raise UserError(
                f"embedding memory: indices {indices.min()} to {indices.max()}; "
                f"allowed: 0 to {rows - 1}"
            )
        if self.embeddings is None and embeddings.ndim == 2:
            self.embeddings = np.zeros((rows, embeddings.shape[1]), dtype=np.float32)
        size = "D" if self.embeddings is None else self.embeddings.shape[1]
        if embeddings.shape != (len(indices), size):
            raise UserError(
                f"embedding memory: embeddings of shape {embeddings.shape}; "
                f"allowed: ({len(indices)}, {size})"
            )
        self.embeddings[indices] = embeddings
        self.known[indices] = True

    def state_dict(self) -> dict[str, torch.Tensor]:
        """A copy of the table as tensors: `known` [rows] and `embeddings` [rows, D or 0]."""
        empty = np.zeros((len(self.known), 0), dtype=np.float32)
        embeddings = empty if self.embeddings is None else self.embeddings
        return {"known": torch.tensor(self.known), "embeddings": torch.tensor(embeddings)}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Restore a table from `state_dict`.

        Raises:
            UserError: the table has another number of rows.
        """
        known, embeddings = (array(key, state[key]) for key in ("known", "embeddings"))
        if known.shape != self.known.shape:
            raise UserError(
                f"embedding memory: a state of {len(known)} rows; allowed: {len(self.known)}"
            )
        self.known = known.astype(bool)
        self.embeddings = embeddings.astype(np.float32) if embeddings.shape[1] else None
