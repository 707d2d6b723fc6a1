"""Four folds over the first half of the classes, in class order: musgrave2020."""

from typing import Annotated

import pandas

from dmlbench.data.splits._classes import equal_parts, folds, halves
from dmlbench.values import Added, Part, Seed

FOLDS = 4


class Half4Fold(Part):
    """The second half of the classes tests; of the first half, quarter i validates in fold i.

    All folds validate on the same number of classes, a quarter rounded down, and quarter i ends at
    (i + 1) / 4 of the half; remaining classes (Cars196: 2 of 98) train in every fold. The authors'
    programs do the same, with 75 / 25 classes on CUB, 74 / 24 on Cars196 and 8,488 / 2,829 on SOP.

    Args:
        draw, swapped: as those of `Half`, whose test classes are the same.

    Source: Musgrave, Belongie and Lim, ECCV 2020, section 3.
    """

    open = True

    draw: Annotated[Seed | None, Added()] = None
    swapped: Annotated[bool, Added()] = False

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        first, second = halves(index, self.draw, swapped=self.swapped)
        return folds(index, equal_parts(first, FOLDS), second)
