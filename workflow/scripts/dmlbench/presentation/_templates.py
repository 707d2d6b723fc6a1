"""Pages and documents: how templates are rendered, and how files link to each other."""

import base64
import os
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from dmlbench.files import write_text
from dmlbench.presentation.texts import REHEARSAL, duration, rounded

TEMPLATES = Path(__file__).parent / "templates"


def write_page(
    template: str, output: str | os.PathLike, *, rehearsal: bool, **content: Any
) -> None:
    """Render a template: text is escaped, a missing name is an error.

    Args:
        output: the HTML file to write.
        rehearsal: whether the page says that its numbers are toy numbers.
        content: the names that the template uses.
    """
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"rounded": rounded, "duration": duration, "breakable": breakable}
    templates.filters["inline"] = _inline
    templates.filters["content"] = lambda path: Path(path).read_text(encoding="utf-8")
    templates.filters["link"] = lambda path: link(path, output)
    note = REHEARSAL if rehearsal else ""
    write_text(output, templates.get_template(template).render(rehearsal=note, **content))


def link(path: str | os.PathLike, page: str | os.PathLike) -> str:
    """A file's relative path from the folder of a page."""
    return Path(os.path.relpath(path, Path(page).parent)).as_posix()


def breakable(text: str) -> Markup:
    """A name as HTML that may break after its separators, so that no word is cut in two."""
    return Markup("<wbr>").join(re.split(r"(?<=[_.\-/])(?=\w)", str(text)))


def _inline(path: str | os.PathLike) -> str:
    """An SVG picture as a data address."""
    content = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return f"data:image/svg+xml;base64,{content}"
