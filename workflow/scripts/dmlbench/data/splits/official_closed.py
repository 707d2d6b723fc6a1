"""The split that a data set comes with, if its subsets share their classes."""

from dmlbench.data.splits.official import Official


class OfficialClosed(Official):
    """The role of an image is its subset in the index, for subsets of the same classes.

    Raises:
        UserError: a subset is not a role.
    """

    open = False
