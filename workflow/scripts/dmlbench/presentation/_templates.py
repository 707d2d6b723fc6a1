"""The environment that pages are rendered in."""

from pathlib import Path

import jinja2

from dmlbench.presentation.numbers import duration, rounded

TEMPLATES = Path(__file__).parent / "templates"


def environment() -> jinja2.Environment:
    """Templates of pages: text is escaped, a missing name is an error."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"rounded": rounded, "duration": duration}
    return found
