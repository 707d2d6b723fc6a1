"""Deviations from printed numbers, and gains next to printed gains."""

import pandas as pd
import pytest
from dmlbench.errors import UserError
from next_to_printed import printed, row, table

TOY = {"dataset": "toy", "split": "", "recipe": "", "selection": "none"}


def toy(frame, *, add=(0.0,)):
    """The printed toy numbers as an experiment's rows, one seed per addend."""
    columns = ["network", "embedding_dim", "method", "variant", "fold", "role", "metric"]
    rows = frame[columns].assign(run="toy", **TOY)
    return pd.concat(
        [
            rows.assign(seed=seed, value=frame.number / 100 + gain * (frame.method == "ranking"))
            for seed, gain in enumerate(add)
        ],
        ignore_index=True,
    )


def test_deviations_are_in_units_of_our_seeds():
    frame = printed("4_01", study="karaman2021")
    options = {"metrics": ["recall_at_1", "map_at_r"], "printed": frame, "role": "train"}
    shown = table("deviations_from_printed", frame, toy(frame, add=[0.01, 0.03]), **options)
    # Ours are 2 points higher with a deviation of sqrt(2) points; the others are all alike.
    assert row(shown, "ranking, m=0.1") == {"recall_at_1": "−1.4", "map_at_r": "−1.4"}
    assert row(shown, "input space") == {"recall_at_1": "–", "map_at_r": "–"}
    assert len(shown.rows) == 12
    assert "8 of 8 are within 2" in shown.caption


def test_gains_are_over_the_same_seed_and_next_to_the_printed_gain():
    frame = printed("4_01", study="karaman2021")
    options = {"metrics": ["map_at_r"], "printed": frame, "role": "train", "over": "input_space"}
    near = table("gains_next_to_printed", frame, toy(frame, add=[-0.01, 0.0, 0.01]), **options)
    # Printed: 40.75 for m = 0.1, 31.77 for the input space.
    assert row(near, "ranking, m=0.1") == {
        "map_at_r": "+8.98 ± 1.00",
        "map_at_r_printed": "+8.98",
        "map_at_r_inside": "yes",
    }
    assert "input space" not in [row.label for row in near.rows]
    far = table("gains_next_to_printed", frame, toy(frame, add=[0.06, 0.07, 0.08]), **options)
    assert row(far, "ranking, m=0.1")["map_at_r_inside"] == "no"
    options["over"] = "nothing"
    with pytest.raises(UserError, match="unknown method to subtract 'nothing'"):
        table("gains_next_to_printed", frame, toy(frame), **options)
