"""The official test classes, and four folds over the official training classes, in class order."""

import pandas

from dmlbench.data.splits._classes import equal_parts, folds
from dmlbench.errors import UserError

FOLDS = 4
_ROLES = {"train", "test"}


class Official4Fold:
    """The official test classes test; quarter i of the training classes validates in fold i.

    The folds of `half4fold` for a data set with official test classes: a quarter of the training
    classes, rounded down, validates in each fold, and remaining classes train in every fold.

    Raises:
        UserError: a subset is neither train nor test.
    """

    open = True

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        strange = sorted(set(index["subset"]) - _ROLES)
        if strange:
            raise UserError(
                f"split official4fold: the index has the subset {strange[0]!r}; "
                "allowed: train, test"
            )
        labels = index.groupby("subset")["label"].unique()
        return folds(index, equal_parts(sorted(labels["train"]), FOLDS), labels["test"])
