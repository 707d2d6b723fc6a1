"""Types of arguments that commands share."""

from pathlib import Path

import click

from dmlbench.program import path_of_user


class _UserPath(click.Path):
    """A path in which `~` is home, also where the shell leaves it."""

    def convert(self, value, param, ctx) -> Path:
        return path_of_user(super().convert(value, param, ctx))


PATH = _UserPath()
