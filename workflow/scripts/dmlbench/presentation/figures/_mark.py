"""What all figures have in common: they are a query of the scores, drawn with a mark."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dmlbench.presentation import style
from dmlbench.presentation.kind import Kind


class Mark(Kind):
    """A kind of figure, in the project's style."""

    def __call__(self, scores: pd.DataFrame) -> Figure:
        with style.house():
            return self.draw(scores)

    def draw(self, scores: pd.DataFrame) -> Figure:
        """The figure of a long table of scores; raises as `Kind.__call__`."""
        raise NotImplementedError

    def note(self, *more: object) -> str:
        """How the scores were selected, and further sentences; empty ones are left out."""
        return " ".join(filter(None, [self.selected, *more]))

    def headed(self, figure: Figure, *more: object, legend: Sequence[Axes] = ()) -> Figure:
        """The figure of several panels with its title and its note above them.

        Args:
            more: as in `note`.
            legend: as `style.legend` takes it: a panel to the left of it, and another one's.
        """
        style.head_of_panels(figure, self.title, self.note(*more))
        if legend:
            style.legend(*legend)
        return figure
