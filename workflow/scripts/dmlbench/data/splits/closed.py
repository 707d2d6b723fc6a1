"""Unseen images of seen classes, four folds: the closed-set splitter of karaman2021."""

import numpy as np
import pandas

from dmlbench.values import Part, Seed

FOLDS = 4


class Closed(Part):
    """Half of the images of every class test; a quarter of the others validate in each fold.

    Of 8n images of a class, 3n train, n validate and 4n test. They are drawn at random; if their
    number is odd, one more trains or validates. Of groups of images, whole groups are drawn.

    Args:
        seed: seed of the draw.

    Source: Karaman 2021, section 2.3.4 and appendix A.
    """

    open = False

    seed: Seed = 0

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        shuffled = index.sample(frac=1, random_state=np.random.default_rng(self.seed))
        place = _places(shuffled).reindex(index.index)
        # Classes begin with different folds, so that small classes leave no fold empty.
        tests, quarter = place % 2 == 1, (place // 2 + index["label"]) % FOLDS
        return pandas.concat(
            [
                pandas.DataFrame(
                    {
                        "image_id": index["image_id"],
                        "role": np.select(
                            [tests, quarter == fold], ["test", "validation"], "train"
                        ),
                        "fold": fold,
                    }
                )
                for fold in range(FOLDS)
            ],
            ignore_index=True,
        )


def _places(shuffled: pandas.DataFrame) -> pandas.Series:
    """The number of each image in its class, in the order given; images of a group share one."""
    if "group" not in shuffled:
        return shuffled.groupby("label").cumcount()
    own = shuffled["group"].where(
        shuffled["group"] != "", shuffled["image_id"].map("image {}".format)
    )
    firsts = ~pandas.DataFrame({"label": shuffled["label"], "group": own}).duplicated()
    numbers = firsts.groupby(shuffled["label"]).cumsum() - 1
    return numbers.where(firsts).groupby([shuffled["label"], own]).transform("first").astype(int)
