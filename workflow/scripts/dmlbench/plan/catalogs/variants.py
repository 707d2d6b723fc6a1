"""Variants: the same run except for a named change, or for the values of an axis."""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

import yaml
from pydantic import StringConstraints, model_validator

from dmlbench.errors import UserError, unknown
from dmlbench.plan.catalogs.choices import Model
from dmlbench.plan.catalogs.places import Place, merged, with_values
from dmlbench.plan.catalogs.where import Where

Value = bool | int | float | str | None
ChoiceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]

BASE = "base"
"""The name of the runs without a change in a grid's list of variants."""


class Change(Model):
    """Changed values of the spec, for some rows or for all."""

    where: Where = Where()
    set: dict[str, Any]


class Alternative(Model):
    """One value of an axis of choices: what it changes in the spec, like a named change."""

    title: str | None = None
    set: dict[str, Any] = {}
    overrides: list[Change] = []


class Variant(Model):
    """A named change of the spec, or an axis: a place in the spec and its values, or choices.

    Attributes:
        title: its name in tables and figures; the variant's name if not given.
        set: what a named change changes in the spec.
        overrides: what it changes in the spec of some rows only.
        search: the search whose best values are merged into the spec; coordinates in braces, such
            as `{dataset}` and `{method}`, are the row's, `{value}` is the value of an axis.
        place: where in the spec an axis varies; several places get the same value.
        values: of an axis of places or searches, in order.
        rehearsed: the number that represents all of them in a rehearsal; the first if not given.
        choices: the values of an axis by name, each with its changes of the spec.
        optima: data set -> a file below `reference/` of published best values, a row for each
            method and place. They become `overrides` when a study is read (`plan.studies.optima`).
    """

    title: str | None = None
    set: dict[str, Any] = {}
    overrides: list[Change] = []
    search: str | None = None
    place: Place | list[Place] | None = None
    values: list[Value] = []
    rehearsed: int | float | None = None
    choices: dict[ChoiceName, Alternative] = {}
    optima: dict[str, str] = {}

    @model_validator(mode="after")
    def _is_one_kind(self) -> "Variant":
        changes = bool(self.set or self.overrides)
        kinds = [changes, self.search is not None, self.place is not None, bool(self.choices)]
        if [*kinds, bool(self.optima)].count(True) != 1:
            raise ValueError(
                "needs exactly one of set (or overrides), search, place, choices and optima"
            )
        if self.values and (self.choices or not self.is_axis):
            raise ValueError(
                "has values but is not an axis; allowed: with place, or `{value}` in search"
            )
        if self.rehearsed is not None and not self.values:
            raise ValueError("has rehearsed but no values; allowed: with values")
        for value in map(value_text, self.values):
            if not value or set(value) & set(",=") or value != value.strip():
                raise ValueError(f"has the value {value!r}; allowed: without spaces, , and =")
        return self

    @property
    def is_axis(self) -> bool:
        """Whether it has values."""
        return self.place is not None or bool(self.choices) or "{value}" in (self.search or "")

    @property
    def places(self) -> list[str]:
        """The places of an axis."""
        return [self.place] if isinstance(self.place, str) else list(self.place or [])


Variants = Mapping[str, Variant]


def expand(items: Sequence[str], variants: Variants) -> list[str]:
    """The variants that a grid lists: names, axes (all of their values), `axis=value`, products.

    >>> axes = {"m": Variant(place="loss.margin", values=[0.1, 0.2])}
    >>> expand(["base", "m"], axes)
    ['', 'm=0.1', 'm=0.2']

    Raises:
        UserError: a name that the study does not define, or a value that cannot be read.
    """
    return list(dict.fromkeys(variant for item in items for variant in _expanded(item, variants)))


def is_defined(variant: str, catalog: Variants, variants: Variants) -> bool:
    """Whether a row's variant, among these variants, is all a catalog's: its parts and values."""
    for name, value in _factors(variant):
        axis = variants[name]
        listed = ["", *axis.choices, *map(value_text, axis.values)]
        if axis is not catalog.get(name) or value not in listed:
            return False
    return True


def changed(values: dict, variant: str, variants: Variants, row) -> dict:
    """A spec's plain values with a row's variant applied."""
    for name, value in _factors(variant):
        chosen = variants[name]
        laid_over = chosen.choices[value] if chosen.choices else chosen
        values = merged(values, laid_over.set)
        for change in laid_over.overrides:
            if change.where.holds(row):
                values = merged(values, change.set)
        if chosen.places:
            values = with_values(values, dict.fromkeys(chosen.places, read_value(value)))
    return values


def rehearsed(variant: str, variants: Variants) -> str:
    """A variant with one number of each axis instead of its own; words stay unchanged.

    It is the axis's first number, or the one that it names. Numbers do not change which code runs,
    so one of them rehearses all.

    >>> axes = {"m": Variant(place="loss.margin", values=[0.1, 0.2])}
    >>> rehearsed("m=0.2", axes)
    'm=0.1'
    """
    factors = []
    for name, value in _factors(variant):
        axis = variants[name]
        numbers = [axis.rehearsed] if axis.rehearsed is not None else axis.values
        numbers = [text for text in map(value_text, numbers) if _is_number(text)]
        value = numbers[0] if numbers and _is_number(value) else value
        factors.append(f"{name}={value}" if value else name)
    return ",".join(factors)


def search_of(variant: str, variants: Variants, row) -> str | None:
    """The search whose best values a row's variant uses; None without one."""
    for name, value in _factors(variant):
        if search := variants[name].search:
            return search.format(**vars(row), value=value)
    return None


def title_of(variant: str, variants: Variants) -> str:
    """A variant's name in tables and figures."""
    titles = []
    for name, value in _factors(variant):
        title = variants[name].title or name
        if value in variants[name].choices:
            value = variants[name].choices[value].title or value
        titles.append(f"{title} = {value}" if value else title)
    return ", ".join(titles)


def read_value(text: str) -> Value:
    """The value of an axis from its text: a YAML scalar, or a fraction such as `12/7`.

    Raises:
        UserError: the text is neither.
    """
    try:
        value = float(Fraction(text)) if "/" in text else _scalar(text)
    except (ValueError, ZeroDivisionError, OverflowError, yaml.YAMLError):
        value = ()
    if not isinstance(value, Value):
        allowed = "a number, 12/7, true, false, null, a word"
        raise UserError(f"{text!r} is not a value; allowed: {allowed}")
    return value


def value_text(value: Value) -> str:
    """The text of a value in a variant's name: the inverse of `read_value`.

    >>> value_text(0.001), value_text(True), value_text(None), value_text("hard")
    ('0.001', 'true', 'null', 'hard')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, float) else str(value)


def _is_number(text: str) -> bool:
    value = read_value(text)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scalar(text: str) -> Any:
    try:
        return float(text) if "e" in text.lower() else yaml.safe_load(text)
    except ValueError:
        return yaml.safe_load(text)


def _expanded(item: str, variants: Variants) -> list[str]:
    if item == BASE:
        return [""]
    factors = []
    for name, value in _factors(item):
        if name not in variants:
            raise unknown("variant", name, [*variants, BASE])
        axis = variants[name].is_axis
        if value and not axis:
            raise UserError(f"variant {name} is a named change and takes no value: {item!r}")
        if axis and not (value or variants[name].values or variants[name].choices):
            raise UserError(f"variant {name} has no values; allowed: {name}=<value>")
        choices = variants[name].choices
        if value and choices and value not in choices:
            raise unknown(f"choice of variant {name}", value, choices)
        if value and variants[name].places:
            read_value(value)
        listed = choices or map(value_text, variants[name].values)
        values = [value] if value or not axis else listed
        factors.append([f"{name}={text}" if text else name for text in values])
    return [",".join(product) for product in itertools.product(*factors)]


def _factors(variant: str) -> list[tuple[str, str]]:
    """(name, text of the value or empty) of each part of a product; empty without a variant."""
    parts = [part.partition("=") for part in variant.split(",")] if variant else []
    return [(name.strip(), value.strip()) for name, _, value in parts]
