"""Average ranks on a line, with a bar over every set of methods that do not differ."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import style
from dmlbench.presentation._ranks import ranking
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import rounded
from dmlbench.statistics.friedman import critical_difference, groups
from dmlbench.statistics.printed import as_scores, display_table
from dmlbench.statistics.tournament import tournament
from dmlbench.values import Printed, RankingMetric
from dmlbench.words import counted

NEEDS = "ranks_of_several"

_ROW = 0.23
_BAR = 0.13
_ABOVE = 0.45
"""Inches from one label to the next, from one bar to the next, and between axis and top."""
_SIDE = 0.4
"""Space for names on each side of the scale, in lengths of the scale."""


class CriticalDifference(Kind):
    """The tournament as a critical-difference diagram; a second one from the printed scores.

    Methods whose average ranks are closer than Nemenyi's critical difference are joined by a
    bar: this tournament does not distinguish them.

    Attributes:
        metric: the metric to rank by.
        printed: printed scores that are ranked below ours, as `read_printed` gives them.

    Source: Demšar 2006, section 3.2.4.
    """

    metric: RankingMetric = "recall_at_1"
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        ours = ranking(self, scores, methods=self.compared)
        panels = [(self.title, self.selected, ours)]
        if self.printed is not None:
            panels.append(self._printed_panel(self.printed))
        sizes = [_depth(board) + _ABOVE + 0.75 for _, _, board in panels]
        figure = Figure(figsize=(7.2, sum(sizes)))
        all_axes = figure.subplots(len(panels), 1, height_ratios=sizes, squeeze=False)[:, 0]
        figure.subplots_adjust(0.02, 0.02, 0.98, 1 - 0.55 / sum(sizes), hspace=0.35)
        for axes, (title, note, board) in zip(all_axes, panels, strict=True):
            self._draw(axes, board)
            style.head(axes, title, f"{self._verdict(board)} {note}".strip())
        return figure

    def _printed_panel(self, printed: pd.DataFrame) -> tuple[str, str, pd.DataFrame]:
        tables = map(display_table, printed["table"].unique())
        title = f"The same from the printed tables {', '.join(tables)}"
        theirs = as_scores(printed, selection=self.selection)
        there = set(theirs.method)
        methods = [method for method in self.compared if method in there]
        ranked = tournament(theirs, metric=self.metric, methods=methods, selection=self.selection)
        return title, "", ranked

    def _verdict(self, board: pd.DataFrame) -> str:
        p_value = board.friedman_p.iloc[0]
        experiments = counted(board.experiments.iloc[0], "experiment")
        ranks = f"Ranks by {self.name(self.metric)} in {experiments}"
        return f"{ranks}, Friedman p = {p_value:.3g}." if p_value >= 0 else f"{ranks}."

    def _draw(self, axes, board: pd.DataFrame) -> None:
        average, difference = board.set_index("method").average_rank, _difference(board)
        bars = groups(average, difference)
        axes.set_axis_off()
        side = _SIDE * (len(average) - 1)
        axes.set_xlim(1 - side, len(average) + side)
        axes.set_ylim(-_depth(board), _ABOVE)
        _scale(axes, len(average))
        self._bracket(axes, difference, len(average))
        for number, bar in enumerate(bars):
            ends = average[bar[0]] - 0.05, average[bar[-1]] + 0.05
            height = -_BAR * (number + 1)
            axes.plot(ends, [height] * 2, color=style.INK, lw=2.6, gid="group")
        below = _BAR * (len(bars) + 1)
        left = _on_the_left(average)
        for place, (method, rank) in enumerate(average.items()):
            row = place if place < left else len(average) - 1 - place
            edge = 1 - side / 12 if place < left else len(average) + side / 12
            height = -below - _ROW * (row + 0.5)
            _elbow(axes, [rank, rank, edge], [0, height, height], method)
            _label(axes, edge, height, rounded(rank, 2), self.name(method), left=place < left)

    def _bracket(self, axes, difference: float, methods: int) -> None:
        end = min(1 + difference, methods)
        axes.plot([1, end], [0.3, 0.3], color=style.INK, lw=1.2, marker="|", ms=6)
        more = "wider than the scale" if end < 1 + difference else "bars join what lies closer"
        text = f"critical difference {rounded(difference, 2)}; {more}"
        style.note_at(axes, text, (end, 0.3), (6, 0), va="center", fontsize=8.5)


def _difference(board: pd.DataFrame) -> float:
    """The critical difference, also of a single experiment, which the tournament does not test."""
    return critical_difference(len(board), board.experiments.iloc[0])


def _depth(board: pd.DataFrame) -> float:
    """Inches that bars and labels take below the axis."""
    average = board.set_index("method").average_rank
    bars, left = groups(average, _difference(board)), _on_the_left(average)
    return _BAR * (len(bars) + 1) + _ROW * max(left, len(board) - left)


def _on_the_left(average: pd.Series) -> int:
    """How many methods have their names on the left: the better half.

    Equal ranks stay on one side: with names on both, their lines would meet and look like one.
    """
    middle = average.iloc[(len(average) - 1) // 2]
    return int((average <= middle).sum())


def _scale(axes, methods: int) -> None:
    axes.plot([1, methods], [0, 0], color=style.SOFT, lw=1)
    for rank in range(1, methods + 1):
        axes.plot([rank] * 2, [0, 0.05], color=style.SOFT, lw=1)
        axes.text(rank, 0.08, str(rank), ha="center", va="bottom", color=style.SOFT, fontsize=8)


def _elbow(axes, x: Sequence[float], y: Sequence[float], method: str) -> None:
    """A line from a method's rank on the axis down and out to its name."""
    color, mark = style.color(method), style.marker(method)
    axes.plot(x, y, color=color, lw=1.1)
    axes.plot(x[:1], y[:1], color=color, marker=mark, ms=6, mec="white", mew=0.8, gid=method)


def _label(axes, edge: float, height: float, rank: str, title: str, *, left: bool) -> None:
    text, side = (f"{title}  {rank}", "right") if left else (f"{rank}  {title}", "left")
    style.note_at(axes, text, (edge, height), (-5 if left else 5, 0), ha=side, va="center")
