"""One fixed set of random validation classes: psomas2020, section 5.2."""

import numpy as np
import pandas

from dmlbench.data.splits._classes import halves, roles
from dmlbench.errors import UserError
from dmlbench.values import InnerShare, Part, Seed


class Fixed(Part):
    """The second half of the classes tests; a random share of the first half validates.

    With one seed, the classes of a smaller share are among those of a larger one.

    Args:
        validation: share of the first half's classes, in (0, 1), rounded to whole classes.
        seed: seed of the draw.

    Source: Psomas 2020, section 5.2; table 14 compares 0.3, 0.2, 0.1 and 0.05.

    Raises:
        UserError: a share that leaves no class to train or to validate.
    """

    open = True

    validation: InnerShare = 0.1
    seed: Seed = 0

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        first, second = halves(index)
        count = round(self.validation * len(first))
        if not 0 < count < len(first):
            raise UserError(
                f"split fixed: validation is {self.validation}, which is {count} of "
                f"{len(first)} classes; allowed: 1 to {len(first) - 1} classes"
            )
        drawn = np.random.default_rng(self.seed).permutation(first)[:count]
        return roles(index, drawn, second)
