"""A matrix of embeddings with its labels, and what is suspicious about them."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dmlbench.data.layouts.subset_folders import SUBSETS
from dmlbench.errors import UserError, check_known
from dmlbench.evaluation.inputs import read_space
from dmlbench.look_alikes import look_alikes
from dmlbench.text_table import check_filled, read_text_table
from dmlbench.words import counted

_SHOWN = 3


class Labels(NamedTuple):
    """What is known of each row of a matrix.

    Attributes:
        label: the class of each row, as text, [N].
        id: the image of each row, [N]; None if that is unknown.
        role: `test`, `query`, `gallery` or `train` of each row, [N].
    """

    label: np.ndarray
    id: np.ndarray | None
    role: np.ndarray

    @property
    def queries(self) -> np.ndarray:
        """Numbers of the rows that are queries."""
        return np.flatnonzero(np.isin(self.role, ["test", "query"]))

    @property
    def gallery(self) -> np.ndarray | None:
        """Numbers of the rows that queries search; None if they search each other."""
        return np.flatnonzero(self.role == "gallery") if "gallery" in self.role else None

    def space(self, vectors: np.ndarray) -> dict:
        """The arguments of `evaluate` for a matrix of these rows."""
        ids = None if self.id is None else self.id[self.queries]
        space = {"embeddings": vectors[self.queries], "labels": self.label[self.queries]}
        space["ids"] = ids
        if self.gallery is None:
            return space
        return space | {
            "gallery": vectors[self.gallery],
            "gallery_labels": self.label[self.gallery],
            "gallery_ids": None if self.id is None else self.id[self.gallery],
        }


def read_labels(path: Path, *, column: str = "label") -> Labels:
    """The labels of a matrix, in the order of its rows, from CSV or Parquet.

    A column `id` names the image of each row; `split` (train, val, test) or `role` (query, gallery)
    says which rows are scored: those of test, or queries that search the gallery.

    Raises:
        UserError: no such file or column, a row without a label, unknown or partial roles.
    """
    table = read_text_table(path)
    check_known(str(path), "column", [column], table)
    check_filled(str(path), column, table[column])
    label = np.array(table[column])
    roles = [
        own or split
        for own, split in zip(
            *(table.get(name, [""] * len(label)) for name in ("role", "split")), strict=True
        )
    ]
    known = {"": "test"} if not any(roles) else SUBSETS
    check_known(str(path), "role or split", [role.lower() for role in roles], known)
    role = np.array([known[each.lower()] for each in roles])
    labels = Labels(label, np.array(table["id"]) if "id" in table else None, role)
    if not len(labels.queries) or ("query" in role) != ("gallery" in role):
        raise UserError(
            f"{path}: has the roles {', '.join(sorted(set(role)))}; allowed: test, or query and "
            "gallery"
        )
    return labels


def suspicions(vectors: np.ndarray, labels: Labels) -> Iterator[str]:
    """What may make scores wrong, in words: labels that look alike, copies of rows."""
    for group in look_alikes(labels.label)[:_SHOWN]:
        yield f"labels that look alike are different classes: {', '.join(map(repr, group))}"
    space = labels.space(vectors)
    if labels.id is not None:
        for rows, name in ((labels.queries, "queries"), (labels.gallery, "gallery")):
            if rows is not None and len(set(labels.id[rows])) < len(rows):
                twice = len(rows) - len(set(labels.id[rows]))
                yield f"{counted(twice, 'id')} of the {name} again: is an image there twice?"
        if labels.gallery is not None:
            there = int(np.isin(space["ids"], space["gallery_ids"]).sum())
            if there:
                yield (
                    f"{there:,} of {len(labels.queries):,} queries are in the gallery themselves, "
                    "by their id: each is left out of its own ranking"
                )
    if labels.gallery is None:
        yield from _copies(vectors[labels.queries], labels.label[labels.queries])


def first_of_copies(vectors: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Numbers of the rows without those that are copies of an earlier one, in direction."""
    side = read_space(vectors, label).queries
    rows = np.ascontiguousarray(side.vectors).view(np.dtype((np.void, side.vectors[0].nbytes)))
    _, group = np.unique(rows.ravel(), return_inverse=True)
    of_row = np.empty(len(group), np.int64)
    of_row[side.row] = group
    _, first = np.unique(of_row, return_index=True)
    return np.sort(first)


def _copies(vectors: np.ndarray, label: np.ndarray) -> Iterator[str]:
    kept = first_of_copies(vectors, label)
    copies = len(label) - len(kept)
    if copies:
        yield (
            f"{copies:,} of {len(label):,} rows are copies of earlier ones (the same embedding): "
            "such queries find themselves, if their labels agree, and R@1 is too high"
        )
