"""What a search found, as one HTML file with small pictures."""

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from dmlbench.data._images import decode
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.inference.gallery import Neighbor

_SIDE = 160
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
ol { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: 1rem;
  padding: 0; list-style: none; }
figure { margin: 0; }
img { max-width: 100%; height: 10rem; object-fit: contain; }
figcaption { font-size: 0.85rem; }
"""


def write_page(query: Path, neighbors: Sequence[Neighbor], title: str, output: Path) -> None:
    """Write the query and what was found, the nearest first; it loads nothing from elsewhere.

    Args:
        query: the picture that was asked for.
        neighbors: pictures by their paths.
        title: which run searched what.
    """
    items = "\n".join(
        f"<li>{_figure(Path(each.picture), f'{place}. {each.distance:.4f}')}</li>"
        for place, each in enumerate(neighbors, start=1)
    )
    with atomic_write(output) as unfinished:
        unfinished.write_text(
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width">\n'
            f"<title>{escape(query.name)}</title>\n<style>{_STYLE}</style>\n"
            f"<h1>Nearest to {escape(query.name)}</h1>\n<p>{escape(title)}</p>\n"
            f"{_figure(query, 'query')}\n"
            "<p>Under each picture: its rank, and its distance from the query (1 - cosine "
            f"similarity, from 0 to 2).</p>\n<ol>\n{items}\n</ol>\n</html>\n",
            encoding="utf-8",
        )


def _figure(path: Path, caption: str) -> str:
    name = escape(path.name)
    picture = f'<img src="data:image/webp;base64,{_small(path)}" alt="{name}">'
    folder = f"{escape(path.parent.name)}/<wbr>" if path.parent.name else ""
    link = f'<a href="{escape(path.resolve().as_uri())}">{folder}{name}</a>'
    return f"<figure>{picture}<figcaption>{escape(caption)}<br>{link}</figcaption></figure>"


def _small(path: Path) -> str:
    try:
        with open(path, "rb") as opened:
            image, _ = decode(opened, "RGB")
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file any more; allowed: a folder, or what `dmlbench embed` wrote of "
            "its present pictures"
        ) from None
    image.thumbnail((_SIDE * 2, _SIDE))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=80)
    return base64.b64encode(file.getvalue()).decode()
