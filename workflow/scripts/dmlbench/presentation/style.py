"""One look for all figures: fonts, grid, and one color and mark per method."""

import contextlib
import itertools
import os
import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dmlbench.files import atomic_write
from dmlbench.presentation._variants import without
from dmlbench.presentation.texts import TOY_NUMBERS

INK = "#1f2430"
SOFT = "#6b7280"
GRID = "#e5e7eb"
BASELINE = "#9aa0aa"

PALETTE = {
    "contrastive": "#332288",
    "triplet": "#aaccff",
    "lifted_structure": "#558877",
    "n_pair": "#999922",
    "margin": "#226622",
    "multi_similarity": "#6688cc",
    "proxy_nca": "#ffbb00",
    "arcface": "#cc4455",
    "soft_triple": "#eebb99",
    "proxy_anchor": "#882255",
    "psomas_proxy_2": "#884488",
    "untrained": BASELINE,
    "histogram": "#0066cc",
    "angular": "#99cc55",
    "generalized_lifted": "#22bbff",
    "quadruplet": "#334433",
    "normalized_softmax": "#ee4488",
    "snr": "#333344",
    "cosface": "#ffbbcc",
    "fastap": "#1122ee",
    "snr_contrastive": "#003300",
    "multi_similarity_miner": "#bb5599",
    "multi_similarity_without_miner": "#000044",
}
"""Method -> color. Losses on pairs and tuples of images are mostly cool, losses with proxies warm.
Any two differ for readers with full color vision and without cones of medium wavelengths."""

INTERVAL = "Whisker: 95% interval over seeds."
DEVIATION = "Whisker: standard deviation over seeds."

_SPARE = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddaa33", "#cc6677", "#aa4499")
_MARKERS = "osD^vPXhp<>*"
_BY_PLACE = (
    ("#332288", "o"),
    ("#44aa99", "s"),
    ("#ddaa33", "^"),
    ("#cc6677", "v"),
    ("#88ccee", "P"),
    ("#117733", "D"),
    ("#882255", "X"),
)

_HOUSE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": SOFT,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "dmlbench",
}


@contextlib.contextmanager
def house() -> Iterator[None]:
    """Draw everything inside the block in the project's style."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_HOUSE)
        yield


def color(method: str) -> str:
    """The method's color in every figure, as #rrggbb."""
    return PALETTE.get(method, _SPARE[_digest(method) % len(_SPARE)])


def marker(method: str) -> str:
    """The method's mark in every figure, so that nothing depends on color alone."""
    if method in PALETTE:
        return _MARKERS[list(PALETTE).index(method) % len(_MARKERS)]
    return _MARKERS[_digest(method) // len(_SPARE) % len(_MARKERS)]


def looks(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict]:
    """Color and mark of each (method, variant), all different: keyword arguments of `plot`.

    Each method has its own color; its variants have different marks, hollow ones with a
    regularizer.
    """
    chosen, taken = {}, {}
    for method, variant in keys:
        fill, hollow = color(method), "regularizer=" in variant
        plain = without(variant, ["regularizer"])
        marks = taken.setdefault(method, {})
        place = _MARKERS.index(marker(method)) + len(marks)
        mark = marks.setdefault(plain, _MARKERS[place % len(_MARKERS)])
        chosen[method, variant] = {
            "color": fill,
            "marker": mark,
            "ms": 6.5,
            "mfc": "white" if hollow else fill,
            "mec": fill if hollow else "white",
            "mew": 1.4 if hollow else 0.6,
        }
    return chosen


def tint(value: str, strength: float) -> tuple[float, float, float]:
    """A color mixed with white: strength 1 is the color itself, 0 is white."""
    red, green, blue = colors.to_rgb(value)
    return tuple(1 - strength * (1 - channel) for channel in (red, green, blue))


def legible_on(fill) -> str:
    """Black or white, whichever is easier to read on a color (WCAG relative luminance)."""
    channels = colors.to_rgb(fill)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if luminance < 0.24 else INK


def whiskers(axes: Axes, x, y, spread, *, horizontal: bool = False, **look) -> None:
    """Draw marks with whiskers, if the spread of any of them is known."""
    edge = {"ls": "", "ms": 7, "mec": "white", "mew": 0.8, "elinewidth": 0.9, "capsize": 2}
    known = {"xerr" if horizontal else "yerr": spread} if spread.notna().any() else {}
    axes.errorbar(x, y, **known, **edge | look)


def printed(axes: Axes, x, y, *, color: str = INK, marker: str = "D") -> None:
    """Draw hollow marks for the numbers that a document prints; missing ones are left out."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(y)
    if known.any():
        look = {"ls": "", "ms": 4, "mfc": "white", "mew": 0.9, "zorder": 4}
        axes.plot(x[known], y[known], marker=marker, mec=color, **look)


def head(axes: Axes, title: str, note: str) -> None:
    """A title, and a subdued line of explanation between it and the axes."""
    axes.set_title(title, pad=23)
    faint = {"color": SOFT, "fontsize": 8.5}
    note_at(axes, note, (0, 1), (0, 9), xycoords="axes fraction", **faint)


def grid(
    rows: Iterable, columns: Iterable, *, size: tuple, margin: tuple, **shared: object
) -> tuple[Figure, dict[tuple, Axes]]:
    """A figure with a panel for each distinct row and column, row by row.

    Args:
        size, margin: width and height in inches: of a panel, and what the figure has more.
        shared: `sharex` and `sharey`, as matplotlib takes them; y is shared by a row if not given.
    """
    keys = [list(dict.fromkeys(each)) for each in (rows, columns)]
    counts = list(map(len, keys))
    inches = [m + s * n for m, s, n in zip(margin, size, counts[::-1], strict=True)]
    figure = Figure(figsize=inches)
    axes = figure.subplots(*counts, squeeze=False, **{"sharey": "row"} | shared)
    return figure, dict(zip(itertools.product(*keys), axes.flat, strict=True))


def panels(
    keys: Iterable, *, width: float, height: float, margin: float, label: str = "", **shared: bool
) -> tuple[Figure, dict]:
    """As `grid`, with one row and a label of its y axis.

    Args:
        width, height: of a panel and of the figure, in inches.
        margin: what the figure is wider than its panels.
    """
    size, shared = (width, height), {"sharey": False} | shared
    figure, axes = grid([label], keys, size=size, margin=(margin, 0), **shared)
    next(iter(axes.values())).set_ylabel(label)
    return figure, {key: each for (_, key), each in axes.items()}


def heading(axes: Axes, text: str, *, fontsize: float = 9) -> None:
    """The title of one of several panels."""
    axes.set_title(text, fontsize=fontsize, fontweight="normal", pad=5)


def blank(axes: Axes) -> None:
    """Take grid and line from a panel whose places have no scale."""
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)


def deviation(std: np.ndarray) -> str:
    """What names whiskers of these lengths; empty if all of them are missing."""
    return "" if np.isnan(std).all() else DEVIATION


def legend(axes: Axes, of: Axes | None = None) -> None:
    """The legend of a panel, or of another one, to the right of the panel."""
    handles, labels = (of or axes).get_legend_handles_labels()
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1, 1))


def band(axes: Axes, x, middle, half, color: str) -> None:
    """A faint band around a line."""
    axes.fill_between(x, middle - half, middle + half, color=color, alpha=0.18, lw=0)


def note_at(axes: Axes, text: str, at: tuple, offset: tuple[float, float], **look) -> None:
    """A text a few points away from a place."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **look)


def look(method: str) -> dict[str, str]:
    """Color and mark of a method."""
    return {"color": color(method), "marker": marker(method)}


def looks_by_place(keys: Iterable[Hashable]) -> dict[Hashable, dict[str, str]]:
    """Color and mark of things that have none of their own, such as networks and metrics."""
    looks = zip(keys, itertools.cycle(_BY_PLACE))
    return {key: {"color": color, "marker": mark} for key, (color, mark) in looks}


def head_of_panels(figure: Figure, title: str, note: str) -> None:
    """As `head`, above all panels of a figure, which fill what is left of its height."""
    height = figure.get_figheight()
    top = {"x": 0.02, "y": 1 - 0.08 / height, "ha": "left"}
    figure.suptitle(title, **top, fontsize=11, fontweight="bold")
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / height))
    figure.text(0.02, 1 - 0.42 / height, note, color=SOFT, fontsize=8.5)


def mark_rehearsal(figure: Figure) -> None:
    """Write across the figure that its numbers are from a rehearsal."""
    with house():
        figure.text(
            0.5,
            0.5,
            f"Rehearsal: {TOY_NUMBERS}",
            ha="center",
            va="center",
            rotation=20,
            fontsize=30,
            fontweight="bold",
            color="#a8321f",
            alpha=0.3,
            zorder=100,
        )


def save(figure: Figure, **files: str | os.PathLike) -> None:
    """Save a figure in the requested formats (`pdf`, `svg`, `png`); it always has the same bytes.

    Fonts are embedded (PDF) or drawn as outlines (SVG); no file carries a date. PNG has 200 dpi.
    """
    dates = {"pdf": "CreationDate", "svg": "Date", "png": "Software"}
    for kind, path in files.items():
        with house(), atomic_write(path) as unfinished:
            figure.savefig(
                unfinished,
                format=kind,
                metadata={dates[kind]: None},
                dpi=200,
                bbox_inches="tight",
            )


def _digest(method: str) -> int:
    return zlib.crc32(method.encode())
