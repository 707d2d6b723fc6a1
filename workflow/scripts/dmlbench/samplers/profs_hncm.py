"""PROFS with hard negative class mining: batches of classes that are close together."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from torch import Tensor

from dmlbench.samplers._batch import LearnsFromEmbeddings
from dmlbench.samplers._memory import EmbeddingMemory
from dmlbench.samplers.profs import Profs
from dmlbench.tensors import array, integers

VERSION = 2


class ProfsHncm(Profs, LearnsFromEmbeddings):
    """Batches as in `Profs`, of a random class and the P - 1 classes nearest to it.

    can2019, section 4.2: a class is at its representative's latest embedding, distances are
    Euclidean, and a batch costs O(L). The training calls `update` after each batch. A class keeps
    its embedding when the representatives change, until its new one passes through a batch. If the
    drawn class has none yet, the others are also drawn from classes without one, and if these are
    fewer than P, from the rest. The text does not say how stored embeddings choose a batch's
    classes: here one is drawn and its nearest classes join it, so that all classes are drawn first
    equally often.

    For a loss with centers (SoftTriple), a class is at its centers: `use_centers`.

    Args: as in `Profs`.
    """

    centers = None

    @cached_property
    def memory(self) -> EmbeddingMemory:
        """The latest embedding of each class."""
        return EmbeddingMemory(self.classes)

    def use_centers(self, centers: Callable[[], Tensor]) -> None:
        """Look for near classes among a loss's centers, not among embedded representatives.

        can2019, section 5.3: "we utilize cluster centers as representatives in SoftTriple".

        Args:
            centers: returns the current vector of each class, [L, D]; called at every update.
        """
        self.centers = centers

    def update(self, indices, embeddings) -> None:
        """Store the embeddings [B, D] of a batch's images [B], those of the representatives."""
        if self.centers is not None:
            self.memory.update(np.arange(self.classes), self.centers())
            return
        indices = integers("indices", indices)[self.representative_positions]
        embeddings = array("embeddings", embeddings)[self.representative_positions]
        self.memory.update(self.by_class.class_of[indices], embeddings)

    def state_dict(self) -> dict:
        return self.memory.state_dict()

    def load_state_dict(self, state: dict) -> None:
        self.memory.load_state_dict(state)

    def choose_classes(self, rng: np.random.Generator) -> np.ndarray:
        """Positions [P] of the classes of a batch: a random one and its nearest."""
        order = rng.permutation(self.classes)
        drawn, others = order[0], order[1:]
        known = self.memory.known
        if known[drawn]:
            table = self.memory.embeddings
            distance = np.square(table - table[drawn]).sum(axis=1)
            cost = np.where(known, distance, np.inf)[others]
        else:
            cost = known[others].astype(np.float64)
        return np.append(drawn, others[_smallest(cost, self.per_batch - 1)])


def _smallest(cost: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` smallest costs, in ascending order, in O(len(cost))."""
    positions = (
        np.argpartition(cost, count - 1)[:count] if 0 < count < len(cost) else np.arange(count)
    )
    return positions[np.argsort(cost[positions], kind="stable")]
