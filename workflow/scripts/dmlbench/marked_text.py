"""Text of a page that a script writes, between two comments that name the script."""

import re
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.files import write_text

_MARKED = r"(<!-- {0}: begin -->\n+)(.*?)(\n+<!-- {0}: end -->)"


def read_marked(page: Path, name: str) -> str:
    """The text between the comments of a name, the only ones of this name in the page."""
    ((_, text, _),) = re.findall(_MARKED.format(name), _text(page), re.DOTALL)
    return text


def write_marked(page: Path, name: str, text: str) -> None:
    """Put a text between the comments of a name, the only ones of this name in the page."""
    new, places = re.subn(
        _MARKED.format(name), lambda match: match[1] + text + match[3], _text(page), flags=re.DOTALL
    )
    if places != 1:
        raise UserError(f"{page}: {places} places for `{name}`; allowed: 1, with a line between")
    write_text(page, new)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")
