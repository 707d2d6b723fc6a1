"""Pruning below the median."""

from optuna.pruners import MedianPruner

from dmlbench.values import CountOrZero


class Median:
    """Gives up a trial whose best score is below the median of the others' at the same epoch.

    Args:
        startup_trials: complete trials before one is given up.
        warmup_epochs: epochs of a trial before it is given up.
    """

    def __init__(self, *, startup_trials: CountOrZero = 5, warmup_epochs: CountOrZero = 0):
        self.pruner = MedianPruner(
            n_startup_trials=startup_trials, n_warmup_steps=warmup_epochs, n_min_trials=1
        )
