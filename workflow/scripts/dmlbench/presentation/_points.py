"""Two measurements of the same runs, one point per method and variant."""

import numpy as np
import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import STRUCTURE
from dmlbench.plan.rows import all_but
from dmlbench.presentation._scores import of_rule

POINT = ["dataset", "method", "variant"]


def points(
    scores: pd.DataFrame,
    *,
    x: str,
    y: str,
    selection: str,
    x_role: str = "train",
    y_role: str = "test",
) -> pd.DataFrame:
    """Means over seeds of two metrics, for each data set, method and variant that has both.

    A point with an infinite mean (rho, if a direction is not used at all) is left out.

    Args:
        scores: the long table.
        x, y: metrics.
        selection: the selection rule of both.
        x_role, y_role: whose embeddings are measured.

    Returns:
        Frame with `POINT`, x, y (percent, but for measures of structure), x_std, y_std (n-1;
        missing for one seed) and seeds, in the order of the long table.

    Raises:
        UserError: no run has both; or a point has several recipes, networks, embedding sizes,
            splits or folds.
    """
    measured = {
        axis: of_rule(scores[scores.metric == metric], selection, role)
        for axis, metric, role in (("x", x, x_role), ("y", y, y_role))
    }
    for frame in measured.values():
        _check_one(frame)
    sides = {axis: _means(frame, axis) for axis, frame in measured.items()}
    both = sides["x"].merge(sides["y"][[*POINT, "y", "y_std"]], on=POINT)
    both = both[np.isfinite(both[["x", "y"]]).all(axis=1)]
    if both.empty:
        raise UserError(f"no run has both {x} of {x_role} and {y} of {y_role} images")
    return both


def _means(frame: pd.DataFrame, axis: str) -> pd.DataFrame:
    percent = {metric: 1 if metric in STRUCTURE else 100 for metric in set(frame.metric)}
    values = frame.assign(value=frame.value * frame.metric.map(percent))
    grouped = values.groupby(POINT, sort=False)["value"].agg(["mean", "std", "count"])
    named = {"mean": axis, "std": f"{axis}_std", "count": "seeds"}
    return grouped.rename(columns=named).reset_index()


def _check_one(frame: pd.DataFrame) -> None:
    for point, rows in frame.groupby(POINT, sort=False):
        for column in all_but(*POINT, "seed"):
            if rows[column].nunique() > 1:
                values = ", ".join(sorted(map(str, rows[column].unique())))
                raise UserError(
                    f"{' '.join(filter(None, point))} has several values of {column} ({values}); "
                    "allowed: one"
                )
