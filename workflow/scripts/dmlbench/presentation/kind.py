"""What every kind of table and figure knows of the view that it makes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants
from dmlbench.presentation.table import Column, Table, TableRow, known
from dmlbench.presentation.texts import name, selected, with_unit


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """A kind of table or figure: called with the scores, it returns a `Table` or a `Figure`.

    The fields here are facts that the pipeline gives to each view (`plan.views.views.facts`). A
    subclass is a dataclass too, without a decorator: its own fields are the options that a study's
    file may give, annotated by `dmlbench.values`. A kind that needs `queries` (tables) or `arrays`
    (figures) has a field of this name and of type `Fact[...]`; see `presentation.view_files`.

    Attributes:
        id: the view's id, for labels and links.
        title: printed above it.
        titles: id of a method, data set, metric, ... -> its display name.
        methods: the methods of the view's rows, in the study's (chronological) order; empty in a
            view of experiments.
        baseline: the method that trains nothing, not compared with the others; None if the study
            has none.
        years: method -> year of publication, if it has one.
        selection: the selection rule of the scores.
        rows: the columns of each row of the scores, with the folder of its run.
        searches: search -> what it searches, as `plan.specs.searches.shown` gives it.
        board: the file of the study's tournament, for a view that ranks the same.
        marks, texts: how a table shows what its kind finds, from tables/queries.yaml or, of a
            referee, from referee/tables.yaml: the columns, and what caption and notes say.
    """

    id: str = ""
    title: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    methods: Sequence[str] = ()
    baseline: str | None = "untrained"
    years: Mapping[str, int] = field(default_factory=dict)
    selection: str = "last_epoch"
    rows: Sequence[Mapping[str, Any]] = ()
    searches: Mapping[str, dict] = field(default_factory=dict)
    board: Sequence[str | os.PathLike] = ()
    marks: Sequence[Mapping[str, Any]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def __init_subclass__(cls):
        dataclass(frozen=True, kw_only=True, eq=False)(cls)

    @property
    def compared(self) -> list[str]:
        """The methods without the baseline."""
        return [method for method in self.methods if method != self.baseline]

    @property
    def dated(self) -> list[str]:
        """The methods with a year of publication."""
        return [method for method in self.methods if method in self.years]

    @property
    def everyone(self) -> list[str]:
        """The methods, the baseline last."""
        return [*self.compared, *filter(None, [self.baseline])]

    @property
    def selected(self) -> str:
        """A sentence for a caption: how the scores were selected."""
        return selected(self.selection)

    def __call__(self, scores: pd.DataFrame):
        """The table or figure of a long table of scores; kinds of searches: of `Searched`.

        Raises:
            UserError: no scores fit; they mix what the kind shows one of (data sets, networks,
                recipes, ...); or something that is compared is missing (a seed, a method, a metric
                of an experiment, a complete trial).
        """
        raise NotImplementedError

    def name(self, key: object) -> str:
        """The display name of an id."""
        return name(self.titles, key)

    def with_unit(self, metric: str) -> str:
        """The display name of a metric with its unit, for an axis."""
        return with_unit(self.titles, metric)

    def year(self, method: str, text: str) -> str:
        """The year of a method in a text such as ` ({})`; empty if it has none."""
        return text.format(self.years[method]) if method in self.years else ""

    def labeled(self, method: str, variant: str) -> str:
        """A method and its variant for a reader."""
        return _variants.labeled(self.titles, method, variant)

    def legend(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Methods with their variants for a reader, without what the variants of all share."""
        keys = list(keys)
        shared = _variants.shared(variant for _, variant in keys)
        several = len({method for method, _ in keys}) > 1
        return {
            key: self.labeled(key[0], _variants.without(key[1], shared) if several else key[1])
            for key in keys
        }

    def in_order(self, keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Distinct methods with their variants, in the study's order of methods."""
        place = {method: number for number, method in enumerate(self.methods)}
        return sorted(dict.fromkeys(keys), key=lambda key: place.get(key[0], len(place)))

    def shown(self, *metrics: str, **words: object) -> list[Column]:
        """The columns, with words in their headers; those of each metric if each has its own."""
        return [column for metric in metrics or [""] for column in self._shown(metric, words)]

    def _shown(self, metric: str, more: Mapping[str, object]) -> list[Column]:
        of_metric = quantity(metric) if metric else None
        words = {
            "metric": metric,
            "title": self.name(metric),
            "better": of_metric and of_metric.better,
            "least": "lower" if of_metric and of_metric.better else "",
            "points": "points" if of_metric and of_metric.percent else "std",
            **more,
        }
        return [
            Column(**{k: v.format(**words) if isinstance(v, str) else v for k, v in each.items()})
            for each in self.marks
        ]

    def said(self, text: str = "caption", **words: object) -> str:
        """A text with words in the places that it has for them."""
        return self.texts[text].format(selected=self.selected, **words)

    def listed(
        self,
        row_header: str,
        columns: Sequence[Column],
        records: Iterable[Mapping[str, Any]],
        caption: str = "",
        notes: Iterable[str] = (),
    ) -> Table:
        """A table with a row for each record.

        Args:
            records: the row's `label`, optionally its `panel` and whether it is a `baseline`, and
                values by the names of columns; missing ones are empty cells.
            row_header, columns, caption, notes: as in `table`.
        """
        rows = (
            TableRow(
                record["label"],
                tuple(known(record.get(column.name)) for column in columns),
                record.get("baseline", False),
                record.get("panel", ""),
            )
            for record in records
        )
        return self.table(row_header, columns, rows, caption, notes)

    def table(
        self,
        row_header: str,
        columns: Iterable[Column],
        rows: Iterable[TableRow],
        caption: str = "",
        notes: Iterable[str] = (),
    ) -> Table:
        """The table, with its id and title."""
        parts = tuple(columns), tuple(rows), tuple(notes)
        return Table(self.id, self.title, caption, row_header, *parts)


def bounded(
    stem: str, value: float, low: float, high: float, *, ending: str = ""
) -> dict[str, float]:
    """A number and the ends of its interval, by the names of their columns."""
    return {f"{stem}{ending}": value, f"{stem}_low": low, f"{stem}_high": high}
