"""Ten folds over random classes of the first half: psomas2020, section 5.1."""

import numpy as np
import pandas

from dmlbench.data.splits._classes import folds, halves
from dmlbench.values import Part, Seed

FOLDS = 10


class Half10Fold(Part):
    """The second half of the classes tests; each class of the first validates in one fold.

    The classes are shuffled and cut into ten parts whose sizes differ by one at most.

    Args:
        seed: seed of the shuffle.

    Source: Psomas 2020, section 5.1.
    """

    open = True

    seed: Seed = 0

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        first, second = halves(index)
        shuffled = np.random.default_rng(self.seed).permutation(first)
        return folds(index, np.array_split(shuffled, FOLDS), second)
