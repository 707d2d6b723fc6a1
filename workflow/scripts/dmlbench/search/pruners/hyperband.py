"""Pruning by Hyperband."""

from typing import Annotated

from optuna.pruners import HyperbandPruner

from dmlbench.values import Count, Interval


class Hyperband:
    """Successive halving in several brackets, from many short trials to few long ones.

    Li et al. 2018: of the trials of a bracket, one in `reduction` continues to `reduction` times
    the epochs.

    Args:
        epochs: epochs of a trial that is not given up, over all folds.
        least_epochs: epochs of a trial before it is given up.
        reduction: by which factor trials are reduced, and epochs increased.
    """

    def __init__(
        self,
        epochs: int,
        *,
        least_epochs: Count = 1,
        reduction: Annotated[int, Interval(low=2)] = 3,
    ):
        self.pruner = HyperbandPruner(
            min_resource=least_epochs, max_resource=epochs, reduction_factor=reduction
        )
