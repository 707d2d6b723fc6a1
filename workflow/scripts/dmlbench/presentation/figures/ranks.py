"""Ranks of methods: on one line, or against the years of their publication."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.presentation import style
from dmlbench.presentation._ranks import ranking
from dmlbench.presentation.figures._mark import Mark
from dmlbench.presentation.figures.line import spread_out
from dmlbench.presentation.texts import SELECTIONS, minus, rounded
from dmlbench.statistics.friedman import critical_difference, groups
from dmlbench.statistics.printed import as_scores, display_table
from dmlbench.statistics.tournament import rank_by_year, ranked, tournament
from dmlbench.values import Printed, RankingMetric
from dmlbench.words import counted

_ROW = 0.23
_BAR = 0.13
_ABOVE = 0.45
"""Inches from one label to the next, from one bar to the next, and between axis and top."""
_SIDE = 0.4
"""Space for names on each side of the scale, in lengths of the scale."""


class CriticalDifference(Mark):
    """The tournament as a critical-difference diagram; a second one from the printed scores.

    Methods that this tournament does not distinguish are joined by a bar: by Nemenyi's critical
    difference of average ranks, or, where experiments share classes, by their mean differences.

    Attributes:
        metric: the metric to rank by.
        printed: printed scores that are ranked below ours, as `read_printed` gives them.

    Source: Demšar 2006, section 3.2.4.
    """

    RANKS = "compared"
    metric: RankingMetric = "recall_at_1"
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
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
        title = f"The same from the printed tables {_tables(printed)}"
        theirs = as_scores(printed, selection=self.selection)
        there = set(theirs.method)
        methods = [method for method in self.compared if method in there]
        ranked = tournament(theirs, metric=self.metric, methods=methods, selection=self.selection)
        return title, "", ranked

    def _verdict(self, board: pd.DataFrame) -> str:
        p_value = board.friedman_p.iloc[0]
        experiments = counted(board.experiments.iloc[0], "experiment")
        ranks = f"Ranks by {self.name(self.metric)} in {experiments}"
        if board.unit.iloc[0]:
            return f"{ranks}. A bar joins losses that are not shown to differ on other classes."
        return f"{ranks}, Friedman p = {p_value:.3g}." if p_value >= 0 else f"{ranks}."

    def _draw(self, axes, board: pd.DataFrame) -> None:
        average, bars = board.set_index("method").average_rank, _groups(board)
        axes.set_axis_off()
        side = _SIDE * (len(average) - 1)
        axes.set_xlim(1 - side, len(average) + side)
        axes.set_ylim(-_depth(board), _ABOVE)
        _scale(axes, len(average))
        if not board.unit.iloc[0]:
            # Also of a single experiment, which the tournament does not test.
            difference = critical_difference(len(board), board.experiments.iloc[0])
            _bracket(axes, difference, len(average))
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
            words = [self.name(method), rounded(rank, 2)]
            text, align, off = (words, "right", -5) if place < left else (words[::-1], "left", 5)
            style.note_at(axes, "  ".join(text), (edge, height), (off, 0), ha=align, va="center")


def _tables(printed: pd.DataFrame) -> str:
    """The numbers of printed tables."""
    return ", ".join(map(display_table, printed["table"].unique()))


def _groups(board: pd.DataFrame) -> list[list[str]]:
    """The methods that each bar joins."""
    of = board.set_index("method")
    return groups(of.average_rank, of.apart_from.to_dict())


def _depth(board: pd.DataFrame) -> float:
    """Inches that bars and labels take below the axis."""
    average = board.set_index("method").average_rank
    bars, left = _groups(board), _on_the_left(average)
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


def _bracket(axes, difference: float, methods: int) -> None:
    end = min(1 + difference, methods)
    axes.plot([1, end], [0.3, 0.3], color=style.INK, lw=1.2, marker="|", ms=6)
    more = "wider than the scale" if end < 1 + difference else "bars join what lies closer"
    text = f"critical difference {rounded(difference, 2)}; {more}"
    style.note_at(axes, text, (end, 0.3), (6, 0), va="center", fontsize=8.5)


def _elbow(axes, x: Sequence[float], y: Sequence[float], method: str) -> None:
    """A line from a method's rank on the axis down and out to its name."""
    axes.plot(x, y, color=style.color(method), lw=1.1)
    axes.plot(x[:1], y[:1], ms=6, mec="white", mew=0.8, gid=method, **style.look(method))


class RankByYear(Mark):
    """A panel for our ranks, if there are runs, and one for those of the printed scores.

    Above each is Spearman's correlation of year and mean rank: below 0, later losses rank better.
    Methods without a year are left out, as are experiments that lack one of the others.

    Attributes:
        metric: the metric to rank by.
        printed: printed scores, ranked experiment by experiment, as `read_placed` gives them.
    """

    RANKS = "dated"
    metric: RankingMetric = "recall_at_1"
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
        panels = []
        if len(scores):
            ours = ", ".join(filter(None, ["Ours", SELECTIONS[self.selection]]))
            board = ranking(self, scores, methods=self.dated).set_index("method")
            panels.append((ours, board.average_rank[self.dated], int(board.experiments.iloc[0])))
        if self.printed is not None:
            table = self._printed_ranks(self.printed)
            average = table.mean(axis="columns").rename("average_rank")
            panels.append((f"Printed: tables {_tables(self.printed)}", average, table.shape[1]))
        if not panels:
            raise UserError("ranks by year: neither scores nor printed ones; allowed: one of them")
        figure, grid = style.panels(range(len(panels)), width=6.4, height=4.4, margin=0)
        for axes, (said, average, experiments) in zip(grid.values(), panels, strict=True):
            self._draw(axes, average)
            style.head(axes, said, self._correlation(average, experiments))
        figure.suptitle(self.title, x=0.02, ha="left", fontsize=12, fontweight="bold")
        figure.tight_layout(rect=(0, 0, 1, 0.98))
        return figure

    def _printed_ranks(self, printed: pd.DataFrame) -> pd.DataFrame:
        rows = printed[(printed["metric"] == self.metric) & (printed["why"] == "")]
        rows = rows[rows["method"].isin(list(self.years)) & (rows["role"] == "test")]
        experiment = ["table", "panel", *EXPERIMENT]
        values = rows.pivot_table(index="method", columns=experiment, values="number")
        complete = values.dropna(axis="columns")
        if complete.empty:
            raise UserError(
                f"no printed {self.metric} of {len(values)} losses with a year in one experiment"
            )
        return ranked(complete, self.metric)

    def _correlation(self, average: pd.Series, experiments: int) -> str:
        trend = rank_by_year(average.reset_index(), self.years)
        count = counted(experiments, "experiment")
        if trend is None:
            return f"{count}; too few losses or years for a correlation"
        value = minus(rounded(trend.correlation, 2, sign="+"))
        return f"{count}; Spearman's correlation of year and rank {value}, p = {trend.p_value:.3g}"

    def _draw(self, axes, average: pd.Series) -> None:
        axes.set_ylim(len(average) + 0.6, 0.4)
        place = {year: x for x, year in enumerate(sorted({self.years[m] for m in average.index}))}
        for year, same in average.groupby(average.index.map(self.years)):
            heights = spread_out(same.to_dict(), gap=len(average) * 0.045)
            for method, rank in same.items():
                look = style.look(method)
                axes.plot(place[year], rank, ls="", ms=7, mec="white", gid=method, **look)
                where = (place[year] + 0.1, heights[method])
                axes.text(*where, self.name(method), va="center", fontsize=8)
        axes.set_xlim(-0.4, len(place) - 0.1)
        axes.set_xticks(list(place.values()), list(map(str, place)))
        axes.set_xlabel("year of publication, not to scale")
        axes.set_ylabel(f"mean rank by {self.name(self.metric)} (1 is best)")
