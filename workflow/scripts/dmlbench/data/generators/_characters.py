"""The characters of the glyphs data set and the fonts that draw them.

Of characters that look alike in most fonts (Latin A, Greek Alpha, Cyrillic A; c and C; O and 0; a
Greek capital and its mathematical duplicate) one is kept, so that a picture has one right label.
"""

import functools
import unicodedata
from pathlib import Path

import matplotlib
from fontTools.ttLib import TTFont

CHARACTERS = (
    # Latin letters
    "ABCDEFGHIJKLMNPQRSTUVWXYZ"
    "abdefghijkmnrty"
    # Latin letters of other languages and of the phonetic alphabet
    "ÆŒÞßæœðħŋƀƕƛƢƷǂɐɘɚɞɠɣɤɧɮɰɻʁʄʇʊʎʘʬ"
    # digits
    "0123456789"
    # Greek
    "ΓΔΘΛΞΠΣΦΨΩ"
    "αβγδεζηλμξπρστφψωϖϗϟϡϞ"
    # Cyrillic
    "БДЖИЛЦЧШЪЫЭЮЯ"
    "бЂЉЊЏҨѪѮѢѦҴӃ"
    # mathematical and other signs
    "∀∂∃∇∈√∝∞∠∩∫∬∮∴≈≠≡≤≪⊃⊇⊕⊗⊙⊞⊢⊥⊨⋈⌈⌊←↑→↓↔↕⇒⇔⇑"
    "±¬+ℵℂℕℚℝℤ"
    "#$%&@?§¶£€¥©{*"
)
"""One string, no character twice."""

_ALL_SCRIPTS = ("DejaVuSans", "DejaVuSerif", "STIXGeneral")
_FAMILIES = (*_ALL_SCRIPTS, "DejaVuSansMono")
_COMPUTER_MODERN = ("cmr10", "cmb10", "cmss10", "cmti10", "cmtt10")
_FEWEST_FONTS = 4


def class_name(character: str) -> str:
    """A readable name: 'latin_small_a', 'greek_small_beta', 'element_of'."""
    words = unicodedata.name(character).lower().replace("-", "_").split()
    return "_".join(word for word in words if word not in ("letter", "sign"))


@functools.cache
def fonts() -> dict[str, tuple[Path, ...]]:
    """The fonts that hold each character, among those that matplotlib ships."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    files = [file for file in sorted(folder.glob("*.ttf")) if _is_text_font(file.stem)]
    holds = {file: TTFont(file, lazy=True).getBestCmap().keys() for file in files}
    by_character = {
        character: tuple(file for file in files if _draws(file, character, holds[file]))
        for character in CHARACTERS
    }
    return {c: drawn_by for c, drawn_by in by_character.items() if len(drawn_by) >= _FEWEST_FONTS}


def _is_text_font(stem: str) -> bool:
    return (
        stem.split("-")[0] in _FAMILIES
        or stem.startswith("STIXGeneral")
        or stem in _COMPUTER_MODERN
    )


def _draws(file: Path, character: str, code_points) -> bool:
    # Computer Modern's character map puts other glyphs at the places of signs.
    if file.stem in _COMPUTER_MODERN and not (character.isascii() and character.isalnum()):
        return False
    return ord(character) in code_points
