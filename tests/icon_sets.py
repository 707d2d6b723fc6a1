"""Made-up sets of icons in the form of Iconify's JSON."""

import json
from pathlib import Path

SQUARE = '<path fill="{color}" d="M2 2h12v12H2z"/>'


def square(color: str, **other) -> dict:
    """A square icon of 16 units."""
    return {"body": SQUARE.format(color=color), **other}


def icon_sets(folder: Path, **sets: dict[str, dict]) -> list[Path]:
    """One file for each set, `<set>-1.0.0.json`; an underscore in a set's name is a hyphen."""
    files = []
    for name, icons in sets.items():
        prefix = name.replace("_", "-")
        files.append(folder / f"{prefix}-1.0.0.json")
        # The order of the keys, and what is not read, are as in the packages.
        values = {"prefix": prefix, "lastModified": 1754898912, "icons": icons}
        files[-1].write_text(json.dumps(values | {"aliases": {"dot": {"parent": "sun"}}}))
    return files


def three_sets(folder: Path) -> list[Path]:
    """Two classes that all sets draw, `sun` and `sea-lion`, and what is left out."""
    hidden, dark = square("red", hidden=True), square("brown")
    return icon_sets(
        folder,
        one={"sun": square("gold"), "sea-lion": square("gray"), "moon": square("blue")},
        two={"sun": square("red"), "sea-lion": square("black"), "moon": hidden, "dot": hidden},
        three_v1={
            "sun": {"body": '<circle cx="12" cy="8" r="8" fill="#00f"/>', "left": 4, "width": 16},
            "sea-lion": square("black"),
            "moon": square("blue"),
            "hand": square("gold"),
            "hand-dark-skin-tone": dark,
        },
    )
