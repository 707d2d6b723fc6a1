"""Mean rank of each loss against the year of its publication: do later ones rank better?"""

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.plan.rows import EXPERIMENT
from dmlbench.presentation import style
from dmlbench.presentation._ranks import ranking
from dmlbench.presentation.figures.recall_by_embedding_dim import spread_out
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import SELECTIONS
from dmlbench.presentation.numbers import rounded
from dmlbench.statistics.printed import display_table
from dmlbench.statistics.tournament import rank_by_year, ranked
from dmlbench.values import Printed, RankingMetric
from dmlbench.words import counted

NEEDS = "ranks_of_dated"

_EXPERIMENT = ["table", "panel", *EXPERIMENT]


class RankByYear(Kind):
    """A panel for our ranks, if there are runs, and one for those of the printed scores.

    Above each is Spearman's correlation of year and mean rank: below 0, later losses rank better.
    Methods without a year are left out, as are experiments that lack one of the others.

    Attributes:
        metric: the metric to rank by.
        printed: printed scores, ranked experiment by experiment, as `read_placed` gives them.
    """

    metric: RankingMetric = "recall_at_1"
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        panels = []
        if len(scores):
            ours = ", ".join(filter(None, ["Ours", SELECTIONS[self.selection]]))
            board = ranking(self, scores, methods=self.dated).set_index("method")
            panels.append((ours, board.average_rank[self.dated], int(board.experiments.iloc[0])))
        if self.printed is not None:
            tables = map(display_table, self.printed["table"].unique())
            said = f"Printed: tables {', '.join(tables)}"
            table = self._printed_ranks(self.printed)
            panels.append((said, table.mean(axis="columns").rename("average_rank"), table.shape[1]))
        if not panels:
            raise UserError("ranks by year: neither scores nor printed ones; allowed: one of them")
        heads = [said for said, _, _ in panels]
        figure, grid = style.panels(heads, width=6.4, height=4.4, margin=0)
        for said, average, experiments in panels:
            self._draw(grid[said], average)
            style.head(grid[said], said, self._correlation(average, experiments))
        figure.suptitle(self.title, x=0.02, ha="left", fontsize=12, fontweight="bold")
        figure.tight_layout(rect=(0, 0, 1, 0.98))
        return figure

    def _printed_ranks(self, printed: pd.DataFrame) -> pd.DataFrame:
        rows = printed[(printed["metric"] == self.metric) & (printed["why"] == "")]
        rows = rows[rows["method"].isin(list(self.years)) & (rows["role"] == "test")]
        values = rows.pivot_table(index="method", columns=_EXPERIMENT, values="number")
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
        value = rounded(trend.correlation, 2, sign="+").replace("-", "\u2212")
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
