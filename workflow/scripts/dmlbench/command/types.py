"""Types of arguments that commands share."""

import re
from pathlib import Path

import click

from dmlbench.program import path_of_user


class _UserPath(click.Path):
    """A path in which `~` is home, also where the shell leaves it."""

    def convert(self, value, param, ctx) -> Path:
        return path_of_user(super().convert(value, param, ctx))


class _Range(click.ParamType):
    """`place=low:high`, then `:log` and `:integer`, as (place, the range as in searches.yaml)."""

    name = "PLACE=LOW:HIGH"

    def convert(self, value, param, ctx) -> tuple[str, dict]:
        found = re.fullmatch(r"([\w.]+)=([^:]+):([^:]+)((?::log|:integer)*)", value)
        try:
            place, low, high, flags = found.groups()
            kind = int if "integer" in flags else float
            ends = {"low": kind(low), "high": kind(high)}
        except (AttributeError, ValueError):
            self.fail(
                f"{value!r}; allowed: loss.scale=1:64, loss.scale=1:64:log, loss.bins=5:100:integer"
            )
        return place, ends | dict.fromkeys(flags.split(":")[1:], True)


PATH, RANGE = _UserPath(), _Range()
