"""Colors of one figure differ, for color-blind readers as well."""

import importlib
import itertools

import numpy as np
import pytest
import yaml
from color_vision import DEUTERANOPIA, ciede2000, distances
from dmlbench.presentation import style
from invented import CONFIG

APART = 9.0
"""The least CIEDE2000 between any two colors of a palette."""

NEIGHBORS = 11.0
"""The same for methods that a study lists consecutively: their bars are adjacent."""

PALETTES = {
    "methods": list(style.PALETTE.values()),
    "spare": list(style._SPARE),
    "by place": [color for color, _ in style._BY_PLACE],
    **{
        name: list(importlib.import_module(f"{style.__package__}.figures.{name}")._COLORS)
        for name in ("field", "arrays")
    },
}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Of the test data of Sharma, Wu and Dalal 2005.
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1, 2), (50, 0, 0), 2.3669),
        ((50, 2.5, 0), (56, -27, -3), 31.9030),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_distance_is_ciede2000(first, second, expected):
    found = ciede2000(np.array(first, float), np.array(second, float))
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("vision", [None, DEUTERANOPIA], ids=["full vision", "deuteranopia"])
@pytest.mark.parametrize("palette", PALETTES)
def test_any_two_colors_of_a_palette_are_apart(palette, vision):
    found = distances(PALETTES[palette], vision)
    assert found[~np.eye(len(found), dtype=bool)].min() >= APART


@pytest.mark.parametrize("vision", [None, DEUTERANOPIA], ids=["full vision", "deuteranopia"])
def test_methods_next_to_each_other_are_further_apart(vision):
    known, found = list(style.PALETTE), distances(list(style.PALETTE.values()), vision)
    neighbors = set()
    for file in sorted((CONFIG / "studies").glob("*.yaml")):
        for grid in yaml.safe_load(file.read_text()).get("runs", []):
            methods = grid["method"] if isinstance(grid["method"], list) else [grid["method"]]
            methods = [method for method in methods if method in known]
            neighbors |= set(itertools.pairwise(methods))
    assert len(neighbors) > 20
    near = [
        pair for pair in neighbors if found[known.index(pair[0]), known.index(pair[1])] < NEIGHBORS
    ]
    assert near == []
