"""Two measurements of the same runs, one point per method and variant."""

import numpy as np
import pandas as pd

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.rows import all_but
from dmlbench.statistics.summary import check_one, select, summarize

POINT = ["dataset", "method", "variant"]
FEWEST_POINTS = 3
"""Points that a correlation needs."""


def points(scores: pd.DataFrame, *, x: str, y: str, selection: str) -> pd.DataFrame:
    """Means over seeds of a metric of the training images and one of the test images.

    For each data set, method and variant that has both.

    A point with an infinite mean (rho, if a direction is not used at all) is left out.

    Args:
        scores: the long table.
        x, y: metrics, of the training and of the test images.
        selection: the selection rule of both.

    Returns:
        Frame with `POINT`, x, y (in the units of their metrics), x_std, y_std (n-1; missing for one
        seed) and seeds, in the order of the long table.

    Raises:
        UserError: fewer than three points; or a point has several recipes, networks, sizes,
            splits or folds.
    """
    measured = {
        axis: select(scores, selection=selection, role=role, metrics=[metric])
        for axis, metric, role in (("x", x, "train"), ("y", y, "test"))
    }
    for frame in measured.values():
        for point, rows in frame.groupby(POINT, sort=False):
            whose = f"{' '.join(filter(None, point))} has"
            check_one(rows, all_but(*POINT, "seed"), whose)
    sides = {
        axis: summarize(frame, POINT).rename(columns={"mean": axis, "std": f"{axis}_std"})
        for axis, frame in measured.items()
    }
    both = sides["x"].merge(sides["y"][[*POINT, "y", "y_std"]], on=POINT)
    both = both[np.isfinite(both[["x", "y"]]).all(axis=1)]
    if len(both) < FEWEST_POINTS:
        raise UserError(
            f"{len(both)} methods and variants have both {x} of train and {y} of test images; "
            f"allowed: {FEWEST_POINTS} or more"
        )
    return both
