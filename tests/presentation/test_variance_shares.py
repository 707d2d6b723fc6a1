"""Shares of variance of loss and batch: the table, and its sentence."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation.answer import answer
from dmlbench.presentation.table import write
from dmlbench.statistics.variance import variance_shares
from finished_study import BARE
from kinds import build

TITLES = {"sampler": "batch sampler", "recall_at_1": "R@1", "cub200": "CUB", "sop": "SOP"}
OPTIONS = {"axis": "sampler", "metrics": ["recall_at_1"]}


def scores(seeds, datasets=("cub200",)):
    """Scores of two losses with three samplers; one loss has a miner with all of them."""
    rng = np.random.default_rng(0)
    rows = [
        {"dataset": dataset, "method": method, "variant": variant, "seed": seed, "value": value}
        for dataset in datasets
        for method, before in (("margin", "miner=D,"), ("n_pair", ""))
        for variant in (f"{before}sampler={sampler}" for sampler in ("a", "b", "c"))
        for seed in range(seeds)
        for value in [rng.uniform() + (method == "margin")]
    ]
    return pd.DataFrame(rows).assign(metric="recall_at_1", role="test", selection="last_epoch")


def table(frame, **options):
    kind = build("tables", "variance_shares", **(OPTIONS | options))
    return kind(frame, TITLES)


def test_a_variants_other_parts_belong_to_the_loss():
    frame = scores(3)
    found = table(frame)
    assert [row.label for row in found.rows] == [
        *("loss (2)", "batch sampler (3)", "loss and batch sampler together", "seed")
    ]
    sampler = frame["variant"].str.removeprefix("miner=D,")
    expected = variance_shares(frame.assign(sampler=sampler), "method", "sampler")
    assert [row.cells[0].value for row in found.rows] == pytest.approx(
        [100 * source.share for source in expected.values()]
    )
    assert "3 seeds; in 95 %: for other seeds, the same classes" in found.caption


def test_values_that_some_losses_lack_may_be_left_out():
    frame = scores(3)
    lacking = frame[(frame.method == "margin") | ~frame.variant.str.endswith("=c")]
    with pytest.raises(UserError, match="no score with loss"):
        table(lacking)
    assert table(lacking, values=["a", "b"]).rows[1].label == "batch sampler (2)"


def test_few_seeds_have_no_interval_and_one_seed_no_interaction():
    names = [column.name for column in table(scores(2)).columns]
    assert names == ["recall_at_1_share", "recall_at_1_std", "recall_at_1_p"]
    found = table(scores(1))
    assert [row.label for row in found.rows] == ["loss (2)", "batch sampler (3)", "seed"]
    assert "what both do together is in its row" in found.caption


def test_each_data_set_has_a_panel_and_a_sentence(tmp_path):
    csv = tmp_path / "t.csv"
    found = table(scores(3, ("cub200", "sop")))
    write(found, csv=csv)
    assert [row.panel for row in found.rows] == ["CUB"] * 4 + ["SOP"] * 4
    shown = {"id": "t", "csv": csv, "kind": "variance_shares", "options": OPTIONS}
    (said,) = answer(BARE | {"tournament": None, "titles": TITLES, "tables": [shown]})
    loss = found.rows[0].cells
    low, high = (f"{cell.value:.1f}" for cell in loss[1:3])
    assert said.startswith(
        f"Of the variance of R@1 of 2 losses on CUB, {loss[0].value:.1f} % [{low}, {high}] is "
        "explained by the loss, "
    )
    assert "; of the variance of R@1 of 2 losses on SOP, " in said
    assert said.endswith("is explained by the seed (95 % intervals over seeds).")


def test_printed_numbers_have_a_panel_of_their_own(tmp_path):
    frame = scores(5)
    groups = frame.groupby(["dataset", "method", "variant"], sort=False)["value"]
    printed = groups.agg(number="mean", printed_std="std").reset_index()
    printed[["number", "printed_std"]] *= 100
    printed = printed.assign(metric="recall_at_1", runs=5.0)
    found = table(frame, printed=printed)
    ours, theirs = found.rows[:4], found.rows[4:]
    assert {row.panel for row in theirs} == {"CUB, printed"}
    for row, same in zip(ours, theirs, strict=True):
        assert row.cells[0].value == pytest.approx(same.cells[0].value)
        assert row.cells[3].value == pytest.approx(same.cells[3].value)
        assert same.cells[1].value is None
    csv = tmp_path / "t.csv"
    write(found, csv=csv)
    shown = {"id": "t", "csv": csv, "kind": "variance_shares", "options": OPTIONS}
    (said,) = answer(BARE | {"tournament": None, "titles": TITLES, "tables": [shown]})
    share = theirs[0].cells[0].value
    assert (
        f"; of the variance of R@1 of 2 losses on CUB, printed, {share:.1f} % is explained by the "
        "loss, " in said
    )
