"""Rules by which a trial is given up early: one file each, Optuna's by our names."""

from dmlbench import registry


def build_pruner(name: str, *, epochs: int, **hyperparameters):
    """Build one of Optuna's pruners.

    Args:
        epochs: those of a trial that is not given up, in all folds together.
    """
    return registry.build(
        "search/pruners", name, context={"epochs": epochs}, **hyperparameters
    ).pruner
