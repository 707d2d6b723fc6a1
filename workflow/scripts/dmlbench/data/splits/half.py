"""Half of the classes train, the other half tests: the split of most studies."""

from typing import Annotated

import numpy as np
import pandas

from dmlbench.data.splits._classes import halves, roles
from dmlbench.values import Added, Seed

_NONE = np.array([], dtype=int)


class Half:
    """The first half of the classes in the order of their labels trains, the rest tests.

    With an odd number of classes, the middle one trains (81: 41 and 40).

    Args:
        draw: seed of a shuffle of the classes before; None to keep their order.
    """

    open = True

    def __init__(self, *, draw: Annotated[Seed | None, Added()] = None):
        self.draw = draw

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        return roles(index, _NONE, halves(index, self.draw)[1])
