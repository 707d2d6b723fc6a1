"""Half of the classes train, the other half tests: the split of most studies."""

from typing import Annotated

import numpy as np
import pandas

from dmlbench.data.splits._classes import halves, roles
from dmlbench.values import Added, Part, Seed

_NONE = np.array([], dtype=int)


class Half(Part):
    """The first half of the classes in the order of their labels trains, the rest tests.

    With an odd number of classes, the middle one is in the first half (81: 41 and 40).

    Args:
        draw: seed of a shuffle of the classes before; None to keep their order.
        swapped: whether the second half trains and the first tests. A split and its swap test
            every class once.
    """

    open = True

    draw: Annotated[Seed | None, Added()] = None
    swapped: Annotated[bool, Added()] = False

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        return roles(index, _NONE, halves(index, self.draw, swapped=self.swapped)[1])
