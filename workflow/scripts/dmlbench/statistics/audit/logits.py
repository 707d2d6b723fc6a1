"""Printed percentages against what the other rows of a data set lead one to expect, in logits."""

import numpy as np

_DEVIATIONS = 6.0


def expected(
    percent: np.ndarray, fit: np.ndarray, *, points: float
) -> tuple[np.ndarray, np.ndarray]:
    """What percentages [N] should be by a robust fit, and which of them are too far from it.

    Args:
        fit: the logit of each by the fit, [N].
        points: how far it may be from the fit in any case.
    """
    wanted, off = 100 / (1 + np.exp(-fit)), np.abs(logit(percent) - fit)
    far = off > _DEVIATIONS * 1.4826 * np.median(off)
    return wanted, far & (np.abs(percent - wanted) > points)


def logit(percent: np.ndarray) -> np.ndarray:
    """The logits of percentages."""
    share = np.clip(percent / 100, 1e-4, 1 - 1e-4)
    return np.log(share / (1 - share))
