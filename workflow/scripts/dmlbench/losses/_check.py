"""Checks of hyper-parameter values: a bad one raises a UserError that names it."""

import math

from dmlbench.errors import UserError


def finite(**values: float) -> None:
    """Raise unless each value is a finite number."""
    for name, value in values.items():
        if not _is_number(value):
            raise UserError(f"{name}={value!r} is not allowed: must be a finite number")


def positive(**values: float) -> None:
    """Raise unless each value is a finite number above 0."""
    for name, value in values.items():
        if not _is_number(value) or value <= 0:
            raise UserError(f"{name}={value!r} is not allowed: must be a finite number above 0")


def not_negative(**values: float) -> None:
    """Raise unless each value is a finite number of at least 0."""
    for name, value in values.items():
        if not _is_number(value) or value < 0:
            raise UserError(f"{name}={value!r} is not allowed: must be a finite number >= 0")


def within(low: float, high: float, **values: float) -> None:
    """Raise unless each value is a number in [low, high]."""
    for name, value in values.items():
        if not _is_number(value) or not low <= value <= high:
            raise UserError(f"{name}={value!r} is not allowed: must lie in [{low}, {high}]")


def count(minimum: int, **values: int) -> None:
    """Raise unless each value is an integer of at least `minimum`."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise UserError(f"{name}={value!r} is not allowed: must be an integer >= {minimum}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
