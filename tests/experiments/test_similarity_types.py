"""Weights of a negative pair against their formulas, and the printed table."""

import numpy as np
import pytest
from dmlbench.experiments import build_experiment

SIMILARITIES = np.linspace(-0.2, 0.8, 12)


@pytest.fixture(scope="module")
def outcome():
    return build_experiment("similarity_types", steps=12).run(0)


def test_weights_are_those_of_the_derived_formulas(outcome):
    """Four points: the anchor's similarity is 0.6 to the negative, 0.3 to all others."""
    own, other, positive = (np.full(12, each) for each in (0.6, 0.3, 0.3))
    for kind in ("self", "negative", "positive"):
        S_an, S_am, S_ap = (
            SIMILARITIES if kind == moved else usual
            for moved, usual in (("self", own), ("negative", other), ("positive", positive))
        )
        # One logarithm for each of the two anchors with a positive; the derivative of one of them.
        n_pair = np.exp(S_an - S_ap) / (1 + np.exp(S_an - S_ap) + np.exp(S_am - S_ap))
        found = outcome.arrays[f"n_pair_{kind}"]
        np.testing.assert_allclose(found / found[0], n_pair / n_pair[0], rtol=1e-9)
        found = outcome.arrays[f"contrastive_{kind}"]
        np.testing.assert_array_equal(found > 1e-9, S_an > 0.5 + 1e-9)
        found = outcome.arrays[f"triplet_{kind}"]
        np.testing.assert_array_equal(found > 1e-9, S_an - S_ap + 0.1 > 1e-9)


def test_what_the_thesis_prints_holds_for_other_negatives_alone(outcome):
    values = outcome.table.set_index("metric").value
    printed = {"contrastive": 0, "triplet": 0, "lifted_structure_per_anchor": 1, "n_pair": 1}
    printed |= {"multi_similarity": 1, "multi_similarity_mined": 1}
    assert {name: values[f"{name}_negative"] for name in printed} == printed
    assert all(values[f"{name}_self"] == 1 for name in printed)
    assert values["multi_similarity_positive"] == 0
    assert values["multi_similarity_mined_positive"] == 1
