"""Rows of an index from (archive, member, class name, subset), labels counted in order."""

import pandas

COLUMNS = ["archive", "member", "label", "class_name", "subset"]


def rows(images: list[tuple[str, str, str, str]], subsets: list[str]) -> pandas.DataFrame:
    """Rows sorted by subset (in the order given), class name and member.

    Labels count the classes in this order; a class that two subsets share keeps one label.
    """
    frame = pandas.DataFrame(images, columns=["archive", "member", "class_name", "subset"])
    order = frame["subset"].map({subset: place for place, subset in enumerate(subsets)})
    frame = frame.assign(order=order)
    frame = frame.sort_values(["order", "class_name", "archive", "member"], ignore_index=True)
    frame["label"] = pandas.factorize(frame["class_name"])[0].astype("int32")
    return frame[COLUMNS]
