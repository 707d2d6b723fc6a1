"""The values that a search may try for a parameter: a list of them, or a range."""

from decimal import Decimal
from typing import Annotated

from annotated_types import Gt
from pydantic import Field, FiniteFloat, model_validator

from dmlbench.plan.catalogs.choices import Model

Number = int | FiniteFloat
Value = bool | Number | str
_FORMS = (
    ({"low", "high", "step"}, {"open"}),
    ({"low", "high"}, {"log", "integer"}),
    ({"choices"}, set()),
)
"""Keys that a form needs, and those that it may have."""


class Parameter(Model):
    """The values of one parameter, in one of four forms.

    - low, high, step: a grid: low, low + step, ..., high;
    - low, high: any number between them;
    - low, high, integer: any integer between them;
    - choices: the values themselves.

    Attributes:
        title: its name in tables, printed ones included; its place if not given.
        low, high: the ends of the range, both included.
        step: distance between the values of a grid.
        open: whether `low` itself is left out of a grid, as in (0, 100].
        log: whether the search is uniform in the logarithm; without a step.
        integer: whether only integers are searched; without a step.
        choices: texts, numbers or booleans, instead of a range.
    """

    title: str | None = None
    low: Number | None = None
    high: Number | None = None
    step: Annotated[Number, Gt(0)] | None = None
    open: bool = False
    log: bool = False
    integer: bool = False
    choices: tuple[Value, ...] | None = Field(default=None, min_length=2)

    @model_validator(mode="after")
    def _is_one_form(self) -> "Parameter":
        given = self.model_dump(exclude={"title"}, exclude_defaults=True).keys()
        if not any(needed <= given <= needed | more for needed, more in _FORMS):
            allowed = "low, high and step, with open; low and high, with log, integer; or choices"
            raise ValueError(f"has {', '.join(given) or 'no values'}; allowed: {allowed}")
        if self.choices is not None:
            for position, choice in enumerate(self.choices):
                # True and 1 count as equal too: Optuna compares choices when looking them up.
                if choice in self.choices[:position]:
                    raise ValueError(f"choices name {choice!r} twice, or an equal value")
        elif not self.low < self.high:
            raise ValueError(f"low {self.low}, high {self.high}; allowed: low below high")
        elif self.step is not None and self._steps % 1:
            raise ValueError(
                f"from {self.low} to {self.high} are {float(self._steps):g} steps of {self.step}; "
                "allowed: a whole number of steps"
            )
        elif self.log and not self.low > 0:
            raise ValueError(f"low {self.low} with log; allowed: more than 0")
        elif self.integer and not (isinstance(self.low, int) and isinstance(self.high, int)):
            raise ValueError(f"low {self.low}, high {self.high}; allowed: whole numbers")
        return self

    @property
    def values(self) -> tuple[Value, ...] | None:
        """The values of a grid, ascending, or the choices; None for a range.

        Those of a grid are integers if low, high and step are.
        """
        if self.step is None:
            return self.choices
        low, step = Decimal(str(self.low)), Decimal(str(self.step))
        exact = (low + position * step for position in range(int(self._steps) + 1))
        kind = float if float in map(type, (self.low, self.high, self.step)) else int
        return tuple(map(kind, exact))[1 if self.open else 0 :]

    @property
    def extremes(self) -> tuple[Value, ...]:
        """If these values are valid, all are: both ends, or every choice."""
        if self.choices is not None:
            return self.choices
        values = self.values or (self.low, self.high)
        return values[0], values[-1]

    def thinned(self, count: int) -> "Parameter":
        """At most so many values (two or more) of a grid or of choices, including first and last.

        A range without a step is returned unchanged: it has no number of values.
        """
        if self.choices is not None:
            last = len(self.choices) - 1
            wanted = min(count, len(self.choices)) - 1
            kept = [self.choices[last * position // wanted] for position in range(wanted + 1)]
            return self.model_copy(update={"choices": tuple(kept)})
        if self.step is not None:
            return self.model_copy(update={"step": self._wider_step(count)})
        return self

    def _wider_step(self, count: int) -> Number:
        """A step that gives at most so many values and divides the range into equal parts."""
        wanted = count - (0 if self.open else 1)
        steps = next(steps for steps in range(wanted, 0, -1) if self._steps % steps == 0)
        exact = (Decimal(str(self.high)) - Decimal(str(self.low))) / steps
        whole = exact == int(exact) and isinstance(self.step, int)
        return int(exact) if whole else float(exact)

    @property
    def _steps(self) -> Decimal:
        low, high, step = (Decimal(str(end)) for end in (self.low, self.high, self.step))
        return (high - low) / step
