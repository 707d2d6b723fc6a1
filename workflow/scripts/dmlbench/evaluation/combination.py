"""Embeddings of several models of the same images: as one, or each alone (musgrave2020)."""

from collections.abc import Sequence, Sized

import numpy as np

from dmlbench.errors import UserError
from dmlbench.evaluation.checks import check_rows, is_tensor
from dmlbench.evaluation.inputs import unit_rows
from dmlbench.evaluation.scoring import score


def concatenate(parts: Sequence):
    """Normalize each model's embeddings, concatenate them and normalize again.

    Args:
        parts: one [N, D_i] array or tensor per model, rows in the same order.

    Returns:
        [N, sum of D_i] of unit norm, so that similarity is the mean of the models' similarities;
        a tensor if the first part is one, else an array.

    Raises:
        UserError: no parts, different row counts, rows that are not finite.
    """
    _check(parts)
    joined = unit_rows(np.concatenate([unit_rows(_array(part)) for part in parts], axis=1))
    joined = joined.astype(np.float32)
    return parts[0].detach().float().new_tensor(joined) if is_tensor(parts[0]) else joined


def score_separated(parts: Sequence, labels, **options) -> dict[str, float]:
    """Score each model's embeddings alone and average: {metric: mean over models}.

    Args:
        parts: one [N, D_i] array or tensor per model.
        labels, options: see `score`.
    """
    _check(parts)
    each = [score(part, labels, **options) for part in parts]
    return {name: float(np.mean([scores[name] for scores in each])) for name in each[0]}


def _array(part) -> np.ndarray:
    part = part.detach().double().cpu().numpy() if is_tensor(part) else part
    return np.asarray(part, np.float64)


def _check(parts: Sequence) -> None:
    if not isinstance(parts, Sized) or len(parts) == 0:
        raise UserError("no embeddings to combine; allowed: a list of one array per model")
    for number, part in enumerate(parts):
        check_rows(part, f"embeddings of model {number}")
        if len(part) != len(parts[0]):
            raise UserError(
                f"embeddings of model {number}: {len(part)} rows; allowed: {len(parts[0])}, "
                "as model 0 has"
            )
