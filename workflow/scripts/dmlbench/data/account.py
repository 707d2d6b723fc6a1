"""The account of a user's images: what is used, what is left out and why, what is worth a look."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas

from dmlbench.data._tables import table_facts
from dmlbench.data.index import read_index
from dmlbench.look_alikes import look_alikes
from dmlbench.parquet import read_table

_NAMED = 3
_ADVICE = {f"not an image ({suffix})": ": convert them to .jpg" for suffix in (".heic", ".heif")}


def account(rows: pandas.DataFrame, roles: pandas.DataFrame, findings: Mapping[str, Any]) -> dict:
    """A short account of the images of a data set, label -> text; of vectors, of what they have.

    Args:
        rows: an index, with the column sha256.
        roles: image_id, role and fold of a split.
        findings: what else `index.described` has found.
    """
    classes = rows.groupby("label").agg(name=("class_name", "first"), images=("member", "size"))
    few = {number: classes["name"][classes["images"] == number] for number in (1, 2)}
    alike = [" = ".join(map(repr, group)) for group in look_alikes(classes["name"])]
    depths = [f"{images:,} of {bits} bits" for bits, images in findings["depths"].items()]
    only = len(depths) == 1
    of_all = {
        "Images": f"{len(rows):,} of {len(classes):,} classes",
        "Left out": _left_out(findings["left_out"]),
        "Classes with one image": _counted(list(few[1])),
        "Classes with two images": _counted(list(few[2])),
        "Classes that look alike": _counted(alike),
        "Identical images": _identical(rows, roles),
    }
    if not depths:
        return of_all
    return of_all | {
        "Links": f"{findings['links']:,}",
        "Turned upright": f"{findings['turned']:,}",
        "Depth": f"{next(iter(findings['depths']))} bits" if only else ", ".join(depths),
    }


def account_of(index: Path, split: Path) -> dict:
    """The account of an index and a split of it; empty for indices of earlier versions."""
    findings = table_facts(index).get("found")
    return account(read_index(index), read_table(split).to_pandas(), findings) if findings else {}


def _counted(names: Sequence[str]) -> str:
    return f"{len(names):,} ({_some(names, len(names))})" if names else "none"


def _left_out(reasons: Mapping[str, Mapping[str, Any]]) -> str:
    if not reasons:
        return "nothing"
    return "; ".join(
        f"{each['count']:,} {why} ({_some(each['names'], each['count'])}){_ADVICE.get(why, '')}"
        for why, each in reasons.items()
    )


def _identical(rows: pandas.DataFrame, roles: pandas.DataFrame) -> str:
    """How many images have the same bytes as another one, and which are on both sides."""
    twice = rows[rows.duplicated("sha256", keep=False)]
    if twice.empty:
        return "none"
    where = twice.merge(roles, on="image_id")
    sides = where.assign(trains=where["role"] == "train").groupby(["fold", "sha256"])["trains"]
    both = set(sides.nunique().loc[lambda each: each > 1].index.get_level_values("sha256"))
    labels = twice.groupby("sha256")["label"].nunique()
    groups = [
        " = ".join(same["member"])
        for _, same in sorted(
            twice.groupby("sha256", sort=False), key=lambda each: each[0] not in both
        )
    ]
    text = f"{len(twice):,} in {len(groups):,} {'group' if len(groups) == 1 else 'groups'}"
    text += f", {len(both):,} with images on both sides of the split"
    text += f", {(labels > 1).sum():,} with several classes"
    return f"{text} ({_some(groups, len(groups))})"


def _some(names: Sequence[str], count: int) -> str:
    """The first few of several names."""
    return ", ".join(names[:_NAMED]) + (", ..." if count > _NAMED else "")
