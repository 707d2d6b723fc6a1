"""The split that a data set comes with."""

import pandas

from dmlbench.errors import UserError

_ROLES = ("train", "validation", "test", "query", "gallery")


class Official:
    """The role of an image is its subset in the index, for subsets of unseen classes.

    Raises:
        UserError: a subset is not a role.
    """

    open = True

    def __call__(self, index: pandas.DataFrame) -> pandas.DataFrame:
        strange = sorted(set(index["subset"]) - set(_ROLES))
        if strange:
            raise UserError(
                f"split official: the index has the subset {strange[0]!r}; "
                f"allowed: {', '.join(_ROLES)}"
            )
        return pandas.DataFrame(
            {"image_id": index["image_id"], "role": index["subset"], "fold": -1}
        )
