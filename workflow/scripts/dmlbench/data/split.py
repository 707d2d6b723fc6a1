"""Splits as files: the role of every image, checked before anything trains on it."""

import logging
from pathlib import Path

import pandas
import pyarrow as pa

from dmlbench import registry
from dmlbench.data import _tables
from dmlbench.data.index import read_index
from dmlbench.data.splits._classes import TEST
from dmlbench.errors import UserError

SCHEMA = pa.schema({"image_id": pa.int64(), "role": pa.string(), "fold": pa.int32()})

_log = logging.getLogger(__name__)


def split(index: Path, rule: str, output: Path, **hyperparameters) -> None:
    """Write the roles of a data set's images to Parquet.

    Columns: image_id (int64), role ('train', 'validation' or 'test'; 'query' and 'gallery' instead
    of 'test' if queries search other images), fold (int32; one row per image and fold, -1 without
    folds). The metadata hold the rule and the digest of the index's rows.

    Args:
        index: Parquet file of `dmlbench.data.index.index`.
        rule: a file of `data/splits`.
        output: the Parquet file to write.
        hyperparameters: the rule's keyword-only arguments.

    Raises:
        UserError: unknown rule, no training or no test image, a class with two roles in an open
            split, or a group of images with two roles.
    """
    rows = read_index(index)
    build = registry.build("data/splits", rule, **hyperparameters)
    roles = build(rows)
    labeled = roles.merge(rows[["image_id", "label", "class_name"]], on="image_id")
    _check_roles(labeled, rule, index)
    if build.open:
        _check_disjoint(labeled, rule, index)
    if "group" in rows:
        _check_groups(roles.merge(rows[["image_id", "group"]], on="image_id"), rule, index)
    _warn_of_single_images(labeled, rule)
    facts = {"rule": rule, "hyperparameters": hyperparameters}
    facts["index_sha256"] = _tables.table_facts(index)["rows_sha256"]
    _tables.write(roles, SCHEMA, facts, output)


def _check_roles(labeled: pandas.DataFrame, rule: str, index: Path) -> None:
    for fold, roles in labeled.groupby("fold")["role"].unique().items():
        scored = ("query", "gallery") if {"query", "gallery"} & set(roles) else ("test",)
        watched = () if fold == -1 else ("validation",)
        for role in ("train", *watched, *scored):
            if role not in roles:
                of_fold = "" if fold == -1 else f" of fold {fold}"
                raise UserError(f"split {rule} of {index}: no image{of_fold} has the role {role}")


def _check_disjoint(labeled: pandas.DataFrame, rule: str, index: Path) -> None:
    _refuse_shared(
        labeled,
        "class_name",
        f"split {rule} of {index}",
        "classes",
        "in an open split a class has one",
    )


def _check_groups(grouped: pandas.DataFrame, rule: str, index: Path) -> None:
    allowed = "allowed: half or closed, which keep groups together, or a list whose split does"
    grouped = grouped[grouped["group"] != ""]
    _refuse_shared(grouped, "group", f"split {rule} of {index}", "groups of images", allowed)


def _refuse_shared(
    rows: pandas.DataFrame, column: str, where: str, what: str, allowed: str
) -> None:
    """Refuse values of a column that have more than one role in a fold; test roles are one."""
    tested = rows.assign(role=rows["role"].replace(dict.fromkeys(TEST, "test")))
    roles = tested[["fold", column, "role"]].drop_duplicates()
    shared = roles[roles.duplicated(["fold", column], keep=False)].groupby(["fold", column])
    if shared.ngroups:
        (_, value), first = next(iter(shared["role"]))
        raise UserError(
            f"{where}: {shared.ngroups} {what} have more than one role, {value!r} is in "
            f"{' and '.join(sorted(first))}; {allowed}"
        )


def _warn_of_single_images(labeled: pandas.DataFrame, rule: str) -> None:
    images = labeled.groupby(["fold", "role", "label"]).size()
    for role, count in images[images == 1].groupby("role").size().items():
        _log.warning("split %s: %d classes of role %s have a single image", rule, count, role)
