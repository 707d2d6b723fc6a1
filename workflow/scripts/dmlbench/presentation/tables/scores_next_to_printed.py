"""Scores of every method and variant next to the printed ones, in panels and groups of columns."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _next_to_printed, _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Cell, Column, Table, TableRow, legend
from dmlbench.statistics.comparison import CITED, NOT_RUN
from dmlbench.statistics.placement import KEY, nothing_printed
from dmlbench.values import Metric, Printed

NEEDS = "one_row_per_cell"

_HEADINGS = {"embedding_dim": "embedding size {}"}
_FOLDS = {
    "": "no folds",
    "mean": "mean of the folds",
    "best": "best fold",
    "concatenated": "folds concatenated",
    "separated": "folds separated",
}
_CELL = ["panel", "column", "method", "row", "metric"]


class ScoresNextToPrinted(Kind):
    """A grid of scores, ours next to the printed: one row per method and variant.

    Attributes:
        metrics: the groups of columns.
        printed: the printed numbers at their places; none for scores that are not printed.
        compared_with: variants of printed numbers -> the variant of ours that this table shows next
            to them instead.
        panel: what has one value per panel: a column of the long table (`embedding_dim`,
            `recipe`, `dataset`, ...) or an axis of the variants (`rho`, for `rho=0.1,m=40`).
        column: what has one value per group of columns, likewise; None for metrics alone.
        role: whose images are scored: train, validation or test.
        ddof: 1 for standard deviations of ours that divide by n - 1; 0 for n, as some printed do.
    """

    metrics: Sequence[Metric]
    printed: Printed | None = None
    compared_with: Mapping[str, str] | None = None
    panel: str = "embedding_dim"
    column: str | None = None
    role: Literal["train", "validation", "test"] = "test"
    ddof: Literal[0, 1] = 1

    @property
    def _printed(self) -> pd.DataFrame:
        return nothing_printed() if self.printed is None else self.printed

    def __call__(self, scores: pd.DataFrame) -> Table:
        frames = [self._compared(scores, self.selection, self.metrics)]
        if self.selection != "last_epoch" and (scores.selection == "last_epoch").any():
            frames.append(self._compared(scores, "last_epoch", self.metrics[:1]))
        shown = frames[0]
        style = {
            "printed": bool(shown["printed"].notna().any()),
            "intervals": _next_to_printed.has_intervals(shown),
        }
        rows_by_cell = [
            {tuple(getattr(row, key) for key in _CELL): row for row in frame.itertuples()}
            for frame in frames
        ]
        panels = _variants.in_order(shown.panel)
        places = {part: number for number, part in enumerate(self.titles)}
        listed = sorted(shown.column, key=lambda column: places.get(self._part(column), -1))
        columns = _variants.in_order(listed)
        one_method = shown.method.nunique() == 1 and shown.row.nunique() > 1
        rows = [
            TableRow(
                self._label(method, variant, one_method),
                tuple(self._cells(panel, method, variant, columns, rows_by_cell, style)),
                panel=heading,
            )
            for panel, heading in self._headed(panels)
            for method, variant in _next_to_printed.lines(
                shown[shown.panel == panel].assign(variant=shown.row)
            )
        ]
        last_epoch = len(frames) > 1
        columns = tuple(self._columns(columns, style, last_epoch=last_epoch))
        return self.table(
            "Variant" if one_method else "Loss",
            columns,
            rows,
            caption=self._caption(shown, columns, style["printed"], last_epoch=last_epoch),
            notes=_next_to_printed.note(shown),
        )

    def _compared(self, scores: pd.DataFrame, rule: str, metrics: Sequence[str]) -> pd.DataFrame:
        """`_next_to_printed.next_to_printed` with the panel, column and row of each score."""
        by_recipe = "recipe" in (self.panel, self.column)
        parts = [
            _next_to_printed.next_to_printed(
                scores[scores.recipe == recipe] if by_recipe else scores,
                self._printed,
                metrics=metrics,
                selection=rule,
                roles=[self.role],
            ).assign(recipe=recipe)
            for recipe in (dict.fromkeys(scores.recipe) if by_recipe else [""])
        ]
        frame = pd.concat(parts, ignore_index=True)
        if self.ddof == 0:
            frame["ours_std"] *= (1 - 1 / frame["seeds"]) ** 0.5
        axes = tuple(axis for axis in (self.panel, self.column) if axis)
        frame["panel"] = _variants.values_of(frame, self.panel)
        frame["column"] = _variants.values_of(frame, self.column) if self.column else ""
        frame["row"] = [_variants.without(variant, axes) for variant in frame.variant]
        _check_cells(frame)
        return self._in_order(frame)

    def _in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Methods in the study's order, their variants and panels in the printed order."""
        printed = {place: number for number, place in enumerate(_places(self._printed))}
        methods = {method: number for number, method in enumerate(self.methods)}
        last = len(printed)
        order = [
            (methods.get(place[0], len(methods)), printed.get(place, last))
            for place in _places(frame)
        ]
        return frame.iloc[sorted(range(len(frame)), key=order.__getitem__)]

    def _headed(self, panels: Sequence):
        of_axis = self.panel not in (*KEY, "recipe")
        for place, panel in enumerate(panels):
            heading = _HEADINGS.get(self.panel, "{}").format(self.name(panel))
            if self.panel == "fold":
                heading = _FOLDS.get(panel, f"fold {panel}")
            if of_axis:
                plain = f"{self.panel} = {panel}" if panel else f"no {self.panel}"
                heading = self.titles.get(f"{self.panel}={panel}", plain)
            yield panel, (f"({chr(ord('a') + place)}) {heading}" if len(panels) > 1 else "")

    def _cells(self, panel, method, variant, columns, rows_by_cell, style) -> list[Cell]:
        shown, *last = rows_by_cell
        # Cited rows are never run, even if they lack a printed number.
        mine = [row.status for row in shown.values() if (row.method, row.row) == (method, variant)]
        absent = CITED if set(mine) == {CITED} else NOT_RUN
        cells = []
        for column in columns:
            place = (panel, column, method, variant)
            for metric in self.metrics:
                cells += _next_to_printed.cells(shown.get((*place, metric)), absent=absent, **style)
            for rows in last:
                row = rows.get((*place, self.metrics[0]))
                cells += _next_to_printed.cells(row, absent=absent, printed=False)
        return cells

    def _columns(self, columns: Sequence, style: dict, *, last_epoch: bool) -> list[Column]:
        first, all_columns = self.metrics[0], []
        for column in columns:
            prefix = f"{column}_" if column != "" else ""
            title = self.titles.get(self._part(column)) or self.name(column)
            above = f"{title}, " if column != "" else ""
            for metric in self.metrics:
                group = above + self.name(metric)
                all_columns += _next_to_printed.columns(
                    metric, self.titles, prefix=prefix, group=group, **style
                )
            if last_epoch:
                header = f"{above}{self.name(first)}, last epoch"
                better = quantity(first).better
                all_columns.append(Column(f"{prefix}{first}_last_epoch", header, better=better))
        return all_columns

    def _part(self, column: object) -> str:
        """The part of the variants that a column shows, if any."""
        return f"{self.column}={column}"

    def _label(self, method: str, variant: str, alone: bool) -> str:
        """The method, its year and its variant; the variant alone if there is only one method."""
        if alone and variant:
            return _variants.label(self.titles, variant)
        parts = [self.name(method) + self.year(method, " ({})")]
        parts.append(_variants.label(self.titles, variant))
        return ", ".join(filter(None, parts))

    def _caption(self, compared, columns, printed: bool, *, last_epoch: bool) -> str:
        images = {"test": "the test classes", "train": "the training classes"}
        where = images.get(self.role, "the validation classes")
        unit = in_percent(self.titles, self.metrics)
        caption = f"Scores on {where}{unit}. {self.selected}"
        if last_epoch:
            caption += " The last-epoch column is free of that choice."
        most = compared.seeds.max()
        if most > 1:
            over = "folds" if (compared.fold == "mean").any() else "seeds"
            caption += f" Mean ± standard deviation over {most} {over}"
            caption += "." if self.ddof else ", dividing by n."
        if (compared[compared.seeds > 0].fold == "best").any():
            caption += " Of the folds, the one with the best validation score."
        theirs = " Printed: as the document prints it; diff.: ours less printed." if printed else ""
        return f"{caption}{theirs}{legend(columns)}"


def _places(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(frame.method, frame.variant, strict=True))


def _check_cells(frame: pd.DataFrame) -> None:
    for cell, rows in frame[frame.duplicated(_CELL, keep=False)].groupby(_CELL, sort=False):
        for column in KEY:
            values = [str(value) for value in rows[column].unique()]
            if len(values) > 1:
                raise UserError(
                    f"{cell[2]} has several values of {column} ({', '.join(values)}) in one cell; "
                    "name the one to show, or make it the panel or the column"
                )
