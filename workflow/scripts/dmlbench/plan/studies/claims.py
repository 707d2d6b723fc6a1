"""What a document claims, in our words: config/reference/<study>/claims.yaml.

A claim is a contrast of printed cells, an arm and its control, with a direction and the smallest
effect that matters. Its cells are named as in the transcriptions; where the same numbers are among
our scores says mapping.yaml. `statistics.claims` evaluates it, by the same rule on both.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, PositiveFloat, model_validator

from dmlbench.errors import UserError, check_known, located
from dmlbench.evaluation.names import check_metric
from dmlbench.plan.catalogs.choices import Identifier, Model
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.studies.mapping import COORDINATES, Coordinate, Patterns, When, read_cells

Filter = dict[Coordinate, Patterns]
"""Coordinate -> patterns of its values, as in `mapping.When`; others may have any value."""

ANY = ["any"]
"""Patterns of a control that frees a coordinate of the arm."""

Side = Literal["each", "mean", "best", "worst", "spread"]
"""How several cells of an arm or a control are compared."""

FILE = "claims.yaml"
METHODS, TABLE = "methods", "table"


class Cell(NamedTuple("_Cell", [(name, str) for name in COORDINATES])):
    """The coordinates of a printed number, or of one that the document could have printed."""

    def with_(self, **columns: str) -> "Cell":
        """The cell with other coordinates."""
        return Cell(*self._replace(**columns))


class Claim(Model):
    """One claim.

    Attributes:
        says: the claim in our words.
        place: where it is printed; `line`: of the text that the tables were transcribed from.
        out_of_scope: why it is not evaluated; the fields below are then empty.
        kind: `difference` of arm and control; `monotone`: each value of `along` against the one
            before it; `place` of the arm among arm and control, 1 for the largest number;
            `correlation` of the arm's numbers with those at the coordinates `against`.
        about: `methods`, whose numbers would be others if they were trained again; or `table`: the
            sentence describes printed numbers, which are judged as they are.
        arm: its cells.
        control: the coordinates in which the control's cells differ from the arm's; `any` for all
            values. Names of the arm's patterns have their value there. Cells of the arm are none
            of the control. Without it the arm is compared with the number `by`.
        but: cells that are in neither.
        each: the coordinates that an arm and its control share; by default all that the control
            does not change.
        less: each cell is taken minus the cell with these coordinates, of several values the first
            one that is printed: a gain.
        share_of: each cell is taken as a percentage of the largest cell of its table that shares
            these coordinates.
        arm_is, control_is: how several cells that share `each` are compared: `each` for itself, by
            their `mean`, the `best` or `worst` of them, or their `spread`, the standard deviation.
        over: coordinates over which comparisons are averaged before they are judged.
        along: for `monotone`, one coordinate and its values in order.
        against: for `correlation`, the coordinates of the other number.
        places: for `place`, the first and the last that the claim allows.
        direction: of arm minus control minus `by`: `greater` or `less` than 0; `at_least` or
            `at_most` 0, where the smallest effect of interest is the slack; `equal`, within it.
        by: the claimed amount, in points; for `correlation`, the claimed coefficient.
        smallest: the smallest effect of interest, if it differs from that of the metric: in points,
            or of a coefficient. `because`: why.
        scaled: whether the smallest effect is a share of what training adds in print
            (`Claims.gain`): on other data it is the same share of what training adds there.
        need: in how many comparisons it must hold: `all`, `any`, a share of them, or in the `mean`
            over them.
        unprinted: no table prints its cells, which are all combinations of the listed values.
        transfers: whether the contrast exists on other data sets and networks as well.
    """

    id: Identifier
    says: str
    place: str
    line: int
    out_of_scope: str = ""
    kind: Literal["difference", "monotone", "place", "correlation"] = "difference"
    about: Literal["methods", "table"] = METHODS
    arm: Filter = {}
    control: Filter | None = None
    but: Filter | None = None
    each: list[Coordinate] = []
    less: Filter | None = None
    share_of: list[Coordinate] = []
    arm_is: Side = "each"
    control_is: Side = "each"
    over: list[Coordinate] = []
    along: Filter = {}
    against: dict[Coordinate, str] = {}
    places: tuple[int, int] | None = None
    direction: Literal["greater", "less", "at_least", "at_most", "equal"] = "greater"
    by: float = 0.0
    smallest: Annotated[float, Field(ge=0)] | None = None
    because: str = ""
    scaled: bool = False
    need: Literal["all", "any", "mean"] | Annotated[float, Field(gt=0, le=1)] = "all"
    unprinted: bool = False
    transfers: bool = True

    @model_validator(mode="after")
    def _is_whole(self) -> "Claim":
        if self.out_of_scope:
            if self.arm or self.control:
                raise ValueError("is out of scope and has cells; allowed: one of the two")
            return self
        if not self.arm:
            raise ValueError("has no arm; allowed: one, or the reason in out_of_scope")
        for kind, needed in (
            ("monotone", "along"),
            ("place", "places"),
            ("correlation", "against"),
        ):
            if bool(getattr(self, needed)) != (self.kind == kind):
                raise ValueError(f"{needed} belongs to the kind {kind}; the kind is {self.kind}")
        if len(self.along) > 1:
            raise ValueError(f"along {', '.join(self.along)}; allowed: one coordinate")
        if self.scaled and not self.smallest:
            raise ValueError("is scaled; allowed: with a smallest effect")
        if self.smallest is not None and self.smallest > 0 and not self.because:
            raise ValueError("has a smallest effect without a reason; allowed: with `because`")
        return self

    def control_filter(self) -> Filter:
        """The control's cells."""
        merged = self.arm | (self.control or {})
        return {column: patterns for column, patterns in merged.items() if patterns != ANY}

    def shared(self) -> list[str]:
        """The coordinates that an arm and its control share."""
        changed = {*(self.control or ()), *self.along}
        return list(self.each) or [name for name in COORDINATES if name not in changed]


class StandIn(Model):
    """A study that has the methods of a document on other data.

    Attributes:
        study: the study.
        name: what tells it from others of the same study.
        where: the rows of the study; all if not given.
        variants: variant at the place of a printed number -> its variant there. Other variants do
            not exist there.
        methods: method at the place of a printed number -> its name there, where it is another one.
        untrained_of: the study whose rows without training stand for those that it lacks: the same
            data, splits and size.
        differs: what is not as in the document, beyond data set, network and budget.
    """

    study: Identifier
    name: str
    where: Where = Where()
    variants: dict[str, str]
    methods: dict[Identifier, Identifier] = {}
    untrained_of: Identifier | None = None
    differs: str = ""

    @property
    def studies(self) -> list[str]:
        """The studies whose scores it takes."""
        return [self.study, *filter(None, [self.untrained_of])]


class Gain(Model):
    """What training adds: cells of a trained method, and what those without training differ in."""

    arm: Filter
    control: Filter


class Claims(Model):
    """The file claims.yaml.

    Attributes:
        gain: what training adds, for claims that are `scaled`.
        smallest: metric -> smallest effect of interest in points, `because`: the reason.
        stand_ins: where the claims are tested as well.
    """

    gain: Gain | None = None
    smallest: dict[str, PositiveFloat]
    because: str
    stand_ins: list[StandIn] = []
    claims: list[Claim]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> "Claims":
        seen = set()
        for claim in self.claims:
            if claim.scaled and self.gain is None:
                raise ValueError(f"claim {claim.id} is scaled; allowed: with `gain` at the top")
            if claim.id in seen:
                raise ValueError(f"claim {claim.id} is there twice; allowed: once")
            seen.add(claim.id)
        return self


def read_claims(folder: Path) -> Claims:
    """The claims of a study's folder of printed numbers.

    Raises:
        UserError: the file is missing, holds a wrong key or value, or names something that no
            table prints.
    """
    file = folder / FILE
    content = read_yaml(file, Claims)
    cells = cells_of(folder)
    with located(f"{file}: smallest"):
        for metric in content.smallest:
            check_metric(metric)
    for claim in content.claims:
        where = f"{file}: claim {claim.id}"
        filters = [claim.arm, claim.control_filter(), claim.but, claim.less]
        for filtered in filters if not claim.out_of_scope else ():
            _check_filter(filtered or {}, cells, where, unprinted=claim.unprinted)
        if not claim.out_of_scope and not arms(claim, cells):
            raise UserError(f"{where}: no cell fits its arm; allowed: at least 1")
    return content


def cells_of(folder: Path) -> list[Cell]:
    """The coordinates of all printed numbers of a folder."""
    tables = sorted(folder.glob("table_*.csv"))
    return [Cell(**cell) for table in tables for cell in read_cells(table)]


def arms(claim: Claim, cells: Iterable[Cell]) -> list[Cell]:
    """The cells of a claim's arm, and of all values along its axis."""
    return fitting(claim, claim.arm | claim.along, cells)


def fitting(claim: Claim, filtered: Filter, cells: Iterable[Cell]) -> list[Cell]:
    """The cells of a filter without those that a claim leaves out."""
    if claim.unprinted:
        values = [filtered.get(column, [""]) for column in COORDINATES]
        return [Cell(*coordinates) for coordinates in itertools.product(*values)]
    wanted = When(**filtered)
    found = [cell for cell in cells if wanted.match(cell._asdict()) is not None]
    if claim.but is None:
        return found
    unwanted = When(**claim.but)
    return [cell for cell in found if unwanted.match(cell._asdict()) is None]


def _check_filter(filtered: Filter, cells: list[Cell], where: str, *, unprinted: bool) -> None:
    for column, patterns in filtered.items():
        if column == "metric" and unprinted:
            with located(where):
                for metric in patterns:
                    check_metric(metric)
        if unprinted and column != "method":
            continue
        allowed = {getattr(cell, column) for cell in cells}
        check_known(where, column, [each for each in patterns if "{" not in each], allowed)
