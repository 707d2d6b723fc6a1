"""Colors of verdicts differ in lightness, for who sees no colors and for prints in gray."""

import itertools
import re
from pathlib import Path

import pytest
from claims_picture import COLORS, SIGNS
from color_vision import lab
from dmlbench.presentation import style

CSS = (Path(style.__file__).parent / "templates" / "report.css").read_text()
SITE = (Path(__file__).parents[2] / "docs" / "theme" / "main.html").read_text()


@pytest.mark.parametrize(
    ("text", "first", "second"), [(CSS, "good", "bad"), (SITE, "supported", "contradicted")]
)
def test_verdicts_of_a_page_differ_in_lightness_in_both_modes(text, first, second):
    pairs = re.findall(rf"--{first}: (#\w{{6}}); --{second}: (#\w{{6}})", text)
    assert len(pairs) == 2
    for pair in pairs:
        light, dark = lab(list(pair))[:, 0]
        assert abs(light - dark) > 12, pair


def test_verdicts_of_the_picture_of_claims_differ_in_lightness_and_by_sign():
    lightness = lab(list(COLORS.values()))[:, 0]
    assert min(abs(a - b) for a, b in itertools.combinations(lightness, 2)) > 12
    assert len({SIGNS[verdict] for verdict in COLORS}) == len(COLORS)
