"""Scores of every method beside the printed ones, a panel for each embedding size."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.presentation import _beside
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.values import Fact, Metric, Printed

_HEADINGS = {"embedding_dim": "embedding size {}", "recipe": "{}", "dataset": "{}", "network": "{}"}


class ScoresBesidePrinted:
    """A grid of scores as psomas2020 prints it in tables 6 to 10 and 17 to 21, ours beside it.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        methods: rows of each panel, in the study's (chronological) order; a method that is
            printed and not among them follows them as "not run".
        metrics: the groups of columns; percent, the higher the better.
        selection: the selection rule of the scores. Under any rule but `last_epoch` there is
            one more column, our first metric at the last epoch.
        printed: the printed numbers; none for scores that are printed nowhere.
        panel: what has one value a panel: `embedding_dim`, `recipe`, `dataset` or `network`.
        years: method -> year of publication, printed behind its name.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        methods: Fact[Sequence[str]],
        metrics: Sequence[Metric],
        selection: Fact[str],
        printed: Printed | None = None,
        panel: Literal["embedding_dim", "recipe", "dataset", "network"] = "embedding_dim",
        years: Fact[Mapping[str, int] | None] = None,
    ):
        self.id = id
        self.title = title
        self.methods = list(methods)
        self.metrics = list(metrics)
        self.selection = selection
        self.printed = _NOTHING if printed is None else printed
        self.panel = panel
        self.years = years or {}
        self.views = [(selection, self.metrics)]
        if selection != "last_epoch":
            self.views.append(("last_epoch", self.metrics[:1]))

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of a study's scores.

        Raises:
            UserError: no scores, or several recipes, splits, data sets or networks in a panel.
        """
        scores = scores[scores.role == "test"]
        panels = {
            value: [
                _beside.beside(ours, self._printed(value), metrics=metrics, selection=rule)
                for rule, metrics in self.views
            ]
            for value, ours in self._panels(scores)
        }
        compared = pd.concat([shown for shown, *_ in panels.values()])
        style = {
            "printed": bool(compared["printed"].notna().any()),
            "intervals": _beside.has_intervals(compared),
        }
        rows = [
            Row(self._label(method, titles), self._cells(method, frames, style), panel=heading)
            for heading, frames in self._headed(panels, titles)
            for method in self._rows(frames[0])
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=self._caption(compared, style["printed"]),
            row_header="Loss",
            columns=self._columns(titles, style),
            rows=tuple(rows),
            notes=_beside.note(compared),
        )

    def _panels(self, scores: pd.DataFrame) -> list[tuple]:
        """Value -> scores: embedding sizes rise, all else stands in the order of the scores."""
        values = list(dict.fromkeys(scores[self.panel]))
        if self.panel == "embedding_dim":
            values = sorted({*values, *self.printed[self.panel].replace("", "0").astype(int)} - {0})
        return [(value, scores[scores[self.panel] == value]) for value in values]

    def _printed(self, value) -> pd.DataFrame:
        if self.panel not in self.printed:
            return self.printed
        return self.printed[self.printed[self.panel] == str(value)]

    def _headed(self, panels: Mapping, titles: Mapping[str, str]):
        several = len(panels) > 1
        for place, (value, frames) in enumerate(panels.items()):
            heading = _HEADINGS[self.panel].format(name(titles, value))
            yield (f"({chr(ord('a') + place)}) {heading}" if several else ""), frames

    def _rows(self, compared: pd.DataFrame) -> list[str]:
        return list(dict.fromkeys([*self.methods, *compared.method]))

    def _cells(self, method: str, frames: Sequence[pd.DataFrame], style: dict) -> tuple[Cell, ...]:
        shown, *last = (
            {row.metric: row for row in frame[frame.method == method].itertuples()}
            for frame in frames
        )
        cells = [cell for m in self.metrics for cell in _beside.cells(shown.get(m), **style)]
        cells += [_beside.cells(rows.get(self.metrics[0]), printed=False)[0] for rows in last]
        return tuple(cells)

    def _columns(self, titles: Mapping[str, str], style: dict) -> tuple[Column, ...]:
        columns = [c for m in self.metrics for c in _beside.columns(m, titles, **style)]
        first = self.metrics[0]
        last = Column(f"{first}_last_epoch", f"{name(titles, first)}, last epoch")
        return (*columns, last) if len(self.views) > 1 else tuple(columns)

    def _label(self, method: str, titles: Mapping[str, str]) -> str:
        year = f" ({self.years[method]})" if method in self.years else ""
        return name(titles, method) + year

    def _caption(self, compared: pd.DataFrame, printed: bool) -> str:
        caption = f"Scores on the test classes in percent. {selected(self.selection)}"
        if self.selection != "last_epoch":
            caption += " The last-epoch column is free of that choice."
        most = compared.seeds.max()
        if most > 1:
            caption += f" Mean ± standard deviation over {most} seeds."
        beside = " Printed: as the document prints it; diff.: ours less printed." if printed else ""
        return f"{caption}{beside} Best in bold, second best underlined."


_NOTHING = pd.DataFrame(
    {
        **{
            key: pd.Series(dtype="str")
            for key in ("study", "dataset", "network", "embedding_dim", "method", "variant")
        },
        **{key: pd.Series(dtype="str") for key in ("split", "metric", "std")},
        "number": pd.Series(dtype="float64"),
    }
)
"""No printed numbers, in the columns of `statistics.printed.read_printed`."""
