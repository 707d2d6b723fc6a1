"""Drawings: icons that several teams of designers draw under one name, from Iconify's JSON."""

import importlib.metadata
import json
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from dmlbench.errors import UserError
from dmlbench.files import atomic_write, digest
from dmlbench.values import Count, Interval, Part

_EPOCH = (1980, 1, 1, 0, 0, 0)
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'viewBox="{left} {top} {width} {height}" width="{size}" height="{size}">{body}</svg>'
)
_BOX = {"left": 0, "top": 0, "width": 16, "height": 16}
"""What Iconify's JSON means where neither an icon nor its set says it."""


class Drawings(Part):
    """Renders icons on white; a class is a name that enough sets draw.

    Icons that a set hides and those of a skin tone are left out; aliases are not read. Fonts are
    not used.

    Args:
        renderer: version of resvg-py; another one may draw other pixels.
        size: width and height in pixels.
        designers: the fewest sets that draw a class.
        sha256: of the zip, so that every machine has the same pixels or says that it has not; any
            if not given.

    Raises:
        UserError: another version is installed, or none; a file that is not such JSON; another zip.
    """

    renderer: str
    size: Annotated[int, Interval(ge=16, le=1024)] = 160
    designers: Count = 4
    sha256: str | None = None

    def draw(self, output: Path, *sets: Path) -> None:
        """Write one zip of PNGs, `<name>/<set>.png`, of sets as their packages have them."""
        render = _renderer(self.renderer)
        drawn: dict[str, dict[str, str]] = defaultdict(dict)
        for file in sets:
            designer, icons = _icons(Path(file), self.size)
            for name, svg in icons.items():
                drawn[name][designer] = svg
        with atomic_write(output) as unfinished:
            with zipfile.ZipFile(unfinished, "w") as archive:
                for name in sorted(name for name in drawn if len(drawn[name]) >= self.designers):
                    for designer, svg in sorted(drawn[name].items()):
                        member = zipfile.ZipInfo(f"{name}/{designer}.png", _EPOCH)
                        member.create_system = 3
                        member.external_attr = 0o644 << 16
                        archive.writestr(member, render(svg, member.filename))
            found = digest(unfinished)
            if self.sha256 not in (None, found):
                raise UserError(
                    f"drawings: drew {found}; allowed: {self.sha256}, or `sha256: {found}`, which "
                    "makes it another data set"
                )


def _icons(file: Path, size: int) -> tuple[str, dict[str, str]]:
    """The name of a set, and its icons that are shown and have no skin tone, as SVG by name."""
    try:
        icons = json.loads(file.read_bytes())
        defaults = _BOX | {key: icons[key] for key in _BOX.keys() & icons.keys()}
        shown = {
            name: _SVG.format_map(defaults | icon | {"size": size})
            for name, icon in icons["icons"].items()
            if "skin-tone" not in name and not icon.get("hidden")
        }
        return icons["prefix"], shown
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UserError(f"{file}: not a set of Iconify's JSON ({problem})") from error


def _renderer(version: str) -> Callable[[str, str], bytes]:
    """SVG and its name in messages -> PNG."""
    try:
        found = importlib.metadata.version("resvg-py")
    except importlib.metadata.PackageNotFoundError:
        found = "not installed"
    if found != version:
        raise UserError(f"drawings: resvg-py is {found}; allowed: {version}")
    import resvg_py

    def render(svg: str, name: str) -> bytes:
        try:
            return resvg_py.svg_to_bytes(
                svg_string=svg, background="#ffffff", skip_system_fonts=True
            )
        except ValueError as error:
            raise UserError(f"drawings: {name}: {error}") from error

    return render
