"""Which epoch's weights are kept, by rule."""

from collections.abc import Collection
from dataclasses import dataclass, field

from torch import Tensor

from dmlbench.errors import UserError
from dmlbench.evaluation.roles import scored

ROLES = {"best_test_epoch": "test", "best_validation_epoch": "validation"}


def watched_roles(rule: str, roles: Collection[str]) -> tuple[str, ...]:
    """Which images are scored during training.

    Those by which the rule selects; for `last_epoch`, which needs none, validation images if the
    split has them, else test images. Queries are watched with their gallery.

    Raises:
        UserError: the split has no images of the role.
    """
    there = scored(roles)
    role = ROLES.get(rule, "validation" if "validation" in there else "test")
    if role not in there:
        raise UserError(f"selection {rule}: the split has no {role} images; it has {sorted(roles)}")
    return there[role]


@dataclass
class Selection:
    """The best epoch so far, and the number of evaluations since.

    Attributes:
        rule: `best_test_epoch`, `best_validation_epoch` or `last_epoch`.
        patience: evaluations without improvement before training stops; None for no limit.
        weights: the selected epoch's weights, on the CPU.
    """

    rule: str
    patience: int | None
    epoch: int = -1
    score: float = float("-inf")
    stale: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)

    def offer(self, epoch: int, score: float, weights: dict[str, Tensor]) -> bool:
        """Keep an evaluated epoch if it is selected; returns whether it was."""
        better = score > self.score
        self.stale = 0 if better else self.stale + 1
        self.score = max(score, self.score)
        if better or self.rule == "last_epoch":
            self.epoch = epoch
            self.weights = {name: tensor.cpu().clone() for name, tensor in weights.items()}
            return True
        return False

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.stale >= self.patience

    def state_dict(self) -> dict:
        """Its state for a checkpoint."""
        return {key: getattr(self, key) for key in ("epoch", "score", "stale", "weights")}

    def load_state_dict(self, state: dict) -> None:
        """Continue from a checkpoint."""
        for key, value in state.items():
            setattr(self, key, value)
