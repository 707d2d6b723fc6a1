"""Rules for giving up trials early: one file each, Optuna's under our names."""

from dmlbench import registry


def build_pruner(name: str, *, epochs: int, **hyperparameters):
    """Build one of Optuna's pruners.

    Args:
        epochs: those of a trial that is not given up, over all folds.
    """
    return registry.build(
        "search/pruners", name, context={"epochs": epochs}, **hyperparameters
    ).pruner
