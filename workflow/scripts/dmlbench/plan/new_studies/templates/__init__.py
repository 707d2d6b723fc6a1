"""The files of a study of the user's images, with `${...}` where studies differ."""

from pathlib import Path
from string import Template


def filled(template: str, /, **values: object) -> str:
    """A template of this folder with its values."""
    text = (Path(__file__).parent / f"{template}.yaml").read_text(encoding="utf-8")
    return Template(text).substitute(values)
