"""Gaussian classes: the toy data of karaman2021, section 4.1.2."""

import numpy as np


def draw_classes(
    seed: int, *, classes: int, samples: int, dimension: int, variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points around class means that are uniform in the unit cube, with covariance variance * I.

    Returns:
        float64 [classes * samples, dimension] and int64 labels, class by class.
    """
    rng = np.random.default_rng(seed)
    means = rng.random((classes, dimension))
    noise = rng.normal(scale=np.sqrt(variance), size=(classes, samples, dimension))
    points = (means[:, None] + noise).reshape(-1, dimension)
    return points, np.repeat(np.arange(classes), samples)
