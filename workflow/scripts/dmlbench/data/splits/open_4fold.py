"""Unseen classes, four folds: the open-set splitter of karaman2021."""

import pandas

from dmlbench.data.splits._classes import folds, halves

FOLDS = 4


class Open4Fold:
    """The second half of the classes tests; of the first, each class validates in one fold.

    Of 8n classes, 3n train, n validate and 4n test. The study does not print which classes test;
    here the last ones do, as in the other studies, and the folds are consecutive classes.

    Source: Karaman 2021, section 4.1.1.
    """

    open = True

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        first, second = halves(index)
        cuts = [fold * len(first) // FOLDS for fold in range(FOLDS + 1)]
        parts = [first[cuts[fold] : cuts[fold + 1]] for fold in range(FOLDS)]
        return folds(index, parts, second)
