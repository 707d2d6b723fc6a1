"""Scores of methods, variants or splits, alone or next to the printed ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import pandas as pd

from dmlbench.errors import UserError, unknown
from dmlbench.presentation import _next_to_printed, _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Cell, Column, Table, TableRow, legend
from dmlbench.presentation.texts import in_percent
from dmlbench.statistics.comparison import BOTH, CITED, compare
from dmlbench.statistics.placement import KEY, nothing_printed
from dmlbench.values import Interval, Metric, Printed

_DRAW = ["dataset", "split", "fold", "role", "metric"]


class Scores(Kind):
    """A grid of scores, ours next to the printed.

    A table is a query: what is in each row, panel and column, what it is compared with, and what
    its cells say of it. `queries.yaml` has named ones.

    Attributes:
        metrics: the groups of columns.
        printed: the printed numbers at their places; none for scores that are not printed.
        compared_with: variants of printed numbers -> the variant of ours that this table shows next
            to them instead.
        row: what has one value per row: `method`, `variant` (without what panel and column show),
            or other columns of the long table, of which the last that has a value is shown.
        panel: what has one value per panel: a column of the long table (`embedding_dim`,
            `recipe`, `dataset`, ...) or an axis of the variants (`rho`, for `rho=0.1,m=40`); None
            for no panels.
        column: what has one value per group of columns, likewise, or the `role`: both validation
            and test; None for metrics alone.
        role: whose images are scored: train, validation or test.
        ddof: 1 for standard deviations of ours that divide by n - 1; 0 for n, as some printed do.
        over: a method whose scores are subtracted from those of all others, draw by draw.
        cell: what is shown of each score; what no cell can say is left out.
        only_printed: whether rows are those with printed numbers, in their order, without years.
        baseline_last: whether the baseline is below the others, and never the best.
        absent: the text of a cell whose run is missing.
        labels: value of a row without a method -> its label; folds are numbered from 1.
        row_header: header of the labels.
    """

    metrics: Sequence[Metric]
    printed: Printed | None = None
    compared_with: Mapping[str, str] | None = None
    row: Sequence[str] = ("method", "variant")
    panel: str | None = "embedding_dim"
    column: str | None = None
    role: Literal["train", "validation", "test"] = "test"
    ddof: Annotated[int, Interval(ge=0, le=1)] = 1
    over: str | None = None
    cell: Sequence[Literal["ours", "printed", "difference", "inside", "deviations"]] = (
        "ours",
        "printed",
        "difference",
        "inside",
    )
    only_printed: bool = False
    baseline_last: bool = False
    absent: str = "not run"
    labels: Mapping[str, str] | None = None
    row_header: str | None = None

    @property
    def _ranks(self) -> bool:
        """Whether rows are compared with each other: the best are marked, the last epoch shown."""
        return "method" in self.row

    def __call__(self, scores: pd.DataFrame) -> Table:
        shown = self._compared(scores, self.selection, self.metrics)
        last_epoch = (
            self._ranks
            and self.selection != "last_epoch"
            and (scores.selection == "last_epoch").any()
        )
        frames = [shown]
        if last_epoch:
            frames.append(self._compared(scores, "last_epoch", self.metrics[:1]))
        found = [dict(zip(frame["place"], frame.itertuples(), strict=True)) for frame in frames]
        cells = self._cells(shown)
        groups = self._groups(shown)
        columns = list(self._columns(groups, cells, last_epoch=last_epoch))
        one_method = shown.method.nunique() == 1 and shown["at"].nunique() > 1
        rows = [
            TableRow(
                self._label(at, one_method),
                tuple(self._values(panel, at, groups, cells, found)),
                baseline=self.baseline_last and at[0] == self.baseline,
                panel=heading,
            )
            for panel, heading in self._headed(_variants.in_order(shown.panel))
            for at in dict.fromkeys(shown["at"][shown.panel == panel])
        ]
        words = self._words(shown, cells, last_epoch=last_epoch)
        return self.table(
            self.row_header or ("Variant" if one_method else "Loss"),
            columns,
            rows,
            caption=self.said(**words).strip() + legend(columns),
            notes=_next_to_printed.note(shown, gains=bool(self.over)) if "ours" in cells else (),
        )

    def _compared(self, scores: pd.DataFrame, rule: str, metrics: Sequence[str]) -> pd.DataFrame:
        """`compare` of the scores of a rule, with panel, column and row of each, in their order.

        Scores without a selected epoch match any rule.
        """
        ours = scores[scores.selection.isin([rule, "none"])].assign(selection=rule)
        if len(scores) and not ours.metric.isin(list(metrics)).any():
            raise UserError(f"no scores of {', '.join(metrics)} at {rule}")
        printed = nothing_printed() if self.printed is None else self.printed
        if self.over:
            ours, printed = _less(ours, self.over), _less(printed[printed.why == ""], self.over)
        by_recipe = "recipe" in (self.panel, self.column)
        parts = [
            compare(ours[ours.recipe == recipe] if by_recipe else ours, printed).assign(
                recipe=recipe
            )
            for recipe in (dict.fromkeys(scores.recipe) if by_recipe else [""])
        ]
        frame = pd.concat(parts, ignore_index=True)
        frame = frame[frame.metric.isin(list(metrics)) & frame.role.isin(self._roles)]
        if self.only_printed:
            frame = frame[frame["printed"].notna() & (frame["status"] != CITED)]
        if self.ddof == 0:
            frame = frame.assign(ours_std=frame["ours_std"] * (1 - 1 / frame["seeds"]) ** 0.5)
        return self._placed(self._in_order(frame, printed))

    @property
    def _roles(self) -> list[str]:
        return ["validation", "test"] if self.column == "role" else [self.role]

    def _in_order(self, frame: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
        """Methods in the study's order, their variants and panels in the printed order."""
        listed = self.everyone if self.baseline_last else self.methods
        methods = {method: number for number, method in enumerate(listed)}
        places = enumerate(zip(printed.method, printed.variant, strict=True))
        as_printed = {place: number for number, place in places}
        folds = {fold: number for number, fold in enumerate(_variants.in_order(frame.fold))}
        order = [
            (
                0 if self.only_printed else methods.get(row.method, len(methods)),
                as_printed.get((row.method, row.variant), len(as_printed)),
                folds[row.fold],
            )
            for row in frame.itertuples()
        ]
        return frame.iloc[sorted(range(len(frame)), key=order.__getitem__)]

    def _placed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows with `panel`, `column`, their row in the table as `at`, and all as `place`."""
        axes = [axis for axis in (self.panel, self.column) if axis]
        rows = frame.assign(variant=[_variants.without(v, axes) for v in frame.variant])
        frame = frame.assign(
            panel=_variants.values_of(frame, self.panel) if self.panel else "",
            column=_variants.values_of(frame, self.column) if self.column else "",
            at=list(zip(*(rows[part] for part in self.row), strict=True)),
        )
        place = list(zip(frame.panel, frame["at"], frame.column, frame.metric, strict=True))
        frame = frame.assign(place=place)
        for (_, at, *_), rows in frame[frame.duplicated("place", keep=False)].groupby(
            "place", sort=False
        ):
            for column in KEY:
                values = [str(value) or "base" for value in rows[column].unique()]
                if len(values) > 1:
                    raise UserError(
                        f"{at[0]} has several values of {column} ({', '.join(values)}) in one "
                        "cell; allowed: one, or make it the panel or the column"
                    )
        return frame

    def _cells(self, shown: pd.DataFrame) -> list[str]:
        """What cells can say: without printed numbers only ours."""
        left_out = set() if _next_to_printed.has_intervals(shown) else {"inside"}
        if shown["printed"].isna().all():
            left_out |= {"printed", "difference"}
        return [each for each in self.cell if each not in left_out]

    def _groups(self, shown: pd.DataFrame) -> list:
        """The values of the groups of columns."""
        if self.column == "role":
            return self._roles
        places = {part: number for number, part in enumerate(self.titles)}
        listed = sorted(shown.column, key=lambda value: places.get(f"{self.column}={value}", -1))
        return _variants.in_order(listed)

    def _headed(self, panels: Sequence) -> Iterator[tuple[object, str]]:
        of_axis = self.panel not in (None, *KEY, "recipe")
        for place, panel in enumerate(panels):
            heading = self.texts.get(self.panel, "{}").format(self.name(panel))
            if self.panel == "fold":
                heading = self.texts.get(f"fold_{panel}", f"fold {panel}")
            if of_axis:
                plain = f"{self.panel} = {panel}" if panel else f"no {self.panel}"
                heading = self.titles.get(f"{self.panel}={panel}", plain)
            yield panel, (f"({chr(ord('a') + place)}) {heading}" if len(panels) > 1 else "")

    def _values(self, panel, at, groups, cells, found) -> Iterator[Cell]:
        shown, *last = found
        # Cited rows are never run, even if they lack a printed number.
        mine = {row.status for row in shown.values() if row.at == at}
        absent = CITED if mine == {CITED} else self.absent
        for column in groups:
            for metric in self.metrics:
                row = shown.get((panel, at, column, metric))
                yield from (_next_to_printed.cell(each, row, absent) for each in cells)
            for rows in last:
                row = rows.get((panel, at, column, self.metrics[0]))
                yield _next_to_printed.cell("ours", row, absent)

    def _columns(self, groups: Sequence, cells: list[str], *, last_epoch: bool) -> Iterator[Column]:
        style = {"marked": self._ranks, "gains": bool(self.over)}
        for column in groups:
            title = self.titles.get(f"{self.column}={column}") or self.name(column)
            for metric in self.metrics:
                texts = self._texts(column, title, metric)
                yield from _next_to_printed.columns(cells, metric, *texts, **style)
            if last_epoch:
                stem, heading, above = self._texts(column, title, self.metrics[0])
                texts = f"{stem}_last_epoch", f"{heading}, last epoch", above
                yield from _next_to_printed.columns(["ours"], self.metrics[0], *texts)

    def _texts(self, column: object, title: str, metric: str) -> tuple[str, str, str]:
        """Beginning of the names, heading, and what is above it; without columns the metric's."""
        if self.column is None:
            return metric, self.name(metric), ""
        words = {"column": title, "metric": self.name(metric)}
        stem = self.said("stem", column=column, metric=metric)
        return stem, self.said("heading", **words), self.said("above", **words)

    def _label(self, at: tuple[str, ...], alone: bool) -> str:
        """The row's own label; or the method, its year and its variant, or the variant alone."""
        if "method" not in self.row:
            parts = zip(self.row, at, strict=True)
            *_, (part, own) = ((part, value) for part, value in parts if value != "")
            fold = part == "fold" and own.isdecimal()
            label = str(int(own) + 1) if fold else self.titles.get(own, str(own))
            return (self.labels or {}).get(own, label)
        method, variant = (*at, "")[:2]
        if alone and variant:
            return _variants.label(self.titles, variant)
        year = "" if self.only_printed else self.year(method, " ({})")
        label = _variants.label(self.titles, variant)
        return ", ".join(filter(None, [self.name(method) + year, label]))

    def _words(
        self, shown: pd.DataFrame, cells: list[str], *, last_epoch: bool
    ) -> dict[str, object]:
        """What a caption may say."""
        run = shown[shown.seeds > 0]
        fewest, most = run.seeds.min(), run.seeds.max()
        seeds = f"{fewest} to {most}" if "printed" not in cells and fewest < most else f"{most}"
        there = {
            "last_epoch": last_epoch,
            "mean": most > 1,
            "best_fold": (run.fold == "best").any(),
            "printed": "printed" in cells,
        }
        averaged = {
            "seeds": seeds,
            "over": "folds" if (shown.fold == "mean").any() else "seeds",
            "by": "" if self.ddof else ", dividing by n",
        }
        sentences = {key: self.said(key, **averaged) for key in there if there[key]}
        compared = shown[shown["status"] == BOTH]
        deviations = (compared.difference / compared.ours_std.where(compared.ours_std > 0)).abs()
        points = in_percent(self.titles, self.metrics, "percentage points")
        return (
            dict.fromkeys(there, "")
            | sentences
            | {
                "classes": self.texts[self.role],
                "unit": in_percent(self.titles, self.metrics),
                "points": points.removeprefix(" in ").capitalize() or "How much",
                "over": self.name(self.over),
                "seeds": most,
                "near": (deviations <= 2).sum(),
                "count": deviations.count(),
            }
        )


def _less(frame: pd.DataFrame, over: str) -> pd.DataFrame:
    """The other methods' rows, their values less those of one method of the same draw."""
    value = "number" if "number" in frame else "value"
    draw = [*_DRAW, *({"seed", "selection"} & set(frame))] if value == "value" else _DRAW
    reference = frame.loc[(frame.method == over) & (frame.variant == ""), [*draw, value]]
    if reference.empty and value == "value":
        raise unknown("method to subtract", over, sorted(set(frame.method)))
    pairs = frame[frame.method != over].merge(reference, on=draw, suffixes=("", "_over"))
    return pairs.assign(**{value: pairs[value] - pairs[f"{value}_over"]})
