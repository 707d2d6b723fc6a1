"""The environment that pages are rendered in."""

import re
from pathlib import Path

import jinja2
from markupsafe import Markup

from dmlbench.presentation.numbers import duration, rounded

TEMPLATES = Path(__file__).parent / "templates"


def environment() -> jinja2.Environment:
    """Templates of pages: text is escaped, a missing name is an error."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"rounded": rounded, "duration": duration, "breakable": breakable}
    return templates


def breakable(text: str) -> Markup:
    """A name as HTML that may break after its separators, so that no word is cut in two."""
    return Markup("<wbr>").join(re.split(r"(?<=[_.\-/])(?=\w)", str(text)))
