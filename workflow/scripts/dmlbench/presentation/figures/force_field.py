"""Forces on the points of a triplet, or where a negative causes forces in a triplet."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from dmlbench.errors import unknown
from dmlbench.presentation import style
from dmlbench.presentation.kind import Kind
from dmlbench.values import Fact

_NAMES = "APN"
_COLORS = ("#332288", "#117733", "#cc6677")


class ForceField(Kind):
    """One panel per setting of `triplet_forces` or loss of `loss_forces`: arrows, or mined regions.

    Attributes:
        arrays: seed -> the arrays of that seed; they do not depend on it.
        figure: which one: `3_4`, `3_6` and `3_7` have arrows, `3_5` and `b_1` regions; `forces`, of
            `loss_forces`, has both, a panel for each loss; `2_5_a`, `2_5_b` and `b_1_d`, of
            `mined_regions`, have regions that are counted from 0, darker the larger.
        draws: arrows or regions; if not given, what the figure has, arrows first.
        columns: panels in a row.
        scale: length of an arrow of force 1, in units of the space.
    """

    arrays: Fact[Mapping[int, Mapping[str, np.ndarray]]]
    figure: str
    draws: Literal["arrows", "regions"] | None = None
    columns: int = 3
    scale: float = 0.2

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        arrows = self._panels(f"arrows_{self.figure}_") if self.draws != "regions" else {}
        panels = arrows or self._panels(f"region_{self.figure}_")
        if not panels or (not arrows and self.draws == "arrows"):
            known = {"_".join(key.split("_")[1:3]) for key in self._first if "_" in key[:7]}
            raise unknown("figure of forces", self.figure, known)
        columns = min(self.columns, len(panels))
        lines = -(-len(panels) // columns)
        figure = Figure(figsize=(2.7 * columns, 2.8 * lines + 0.5))
        all_axes = figure.subplots(
            lines, columns, squeeze=False, sharex=True, sharey=True
        ).flatten()
        for axes, (panel, array) in zip(all_axes, panels.items(), strict=False):
            if arrows:
                self._arrows(axes, array)
            else:
                self._region(axes, array)
            style.heading(axes, self.name(panel))
            axes.set_aspect("equal")
            axes.grid(True, axis="both")
        for axes in all_axes[len(panels) :]:
            axes.set_axis_off()
        if arrows:
            self._limits(all_axes[0], arrows)
        figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
        figure.tight_layout()
        return figure

    @property
    def _first(self) -> Mapping[str, np.ndarray]:
        return self.arrays[min(self.arrays)]

    def _panels(self, prefix: str) -> dict[str, np.ndarray]:
        arrays = {key: array for key, array in self._first.items() if key.startswith(prefix)}
        return {key.removeprefix(prefix): array for key, array in arrays.items()}

    def _arrows(self, axes, array: np.ndarray) -> None:
        triangle = np.append(array[:, 0], array[:1, 0], axis=0)
        axes.plot(*triangle.T, color=style.BASELINE, lw=0.8, ls=":")
        for (place, force), label, color in zip(array, _NAMES, _COLORS, strict=True):
            tip = place + self.scale * force
            options = {"arrowstyle": "-|>", "color": color, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", tip, place, arrowprops=options)
            self._point(axes, place, label, color)

    def _region(self, axes, array: np.ndarray) -> None:
        most = max(int(array.max()), 1)
        axes.imshow(
            array,
            origin="lower",
            extent=self._first[f"extent_{self.figure}"],
            cmap=ListedColormap(
                ["white", *(style.tint("#ddaa33", 0.55 * k / most) for k in range(1, most + 1))]
            ),
            vmin=0,
            vmax=most,
            interpolation="nearest",
        )
        for place, label, color in zip(
            self._first[f"points_{self.figure}"], _NAMES, _COLORS, strict=False
        ):
            if np.isfinite(place).all():
                self._point(axes, place, label, color)

    def _point(self, axes, place: np.ndarray, label: str, color: str) -> None:
        axes.plot(*place, marker="o", ms=5, color=color)
        style.note_at(axes, label, place, (4, 4), fontsize=9)

    def _limits(self, axes, arrows: Mapping[str, np.ndarray]) -> None:
        """Limits that contain every arrow of every panel, the same in all."""
        places = np.stack(list(arrows.values()))
        tips = places[:, :, 0] + self.scale * places[:, :, 1]
        everything = np.concatenate([places[:, :, 0], tips]).reshape(-1, 2)
        low, high = everything.min(0), everything.max(0)
        air = 0.08 * (high - low).max()
        axes.set_xlim(low[0] - air, high[0] + air)
        axes.set_ylim(low[1] - air, high[1] + air)
