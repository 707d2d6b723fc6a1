"""Verdicts on printed numbers: by hand on small tables, and on the transcribed ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.plan.mapping import Mapping
from dmlbench.statistics.aggregation import no_scores
from dmlbench.statistics.agreement import (
    CANNOT_BE,
    DIFFERS,
    NOT_RUN,
    REPRODUCED,
    agreement,
    agreement_of_all,
    summary,
    verdicts,
)
from dmlbench.statistics.audit import COLUMNS as AUDIT_COLUMNS
from dmlbench.statistics.audit import audit
from dmlbench.statistics.placement import place, read_placed
from dmlbench.statistics.printed import decimals

REFERENCE = Path(__file__).parents[2] / "config" / "reference"
RUN = {
    "run": "-",
    "dataset": "cub200",
    "network": "resnet50",
    "embedding_dim": 64,
    "recipe": "printed",
    "variant": "",
    "split": "half",
    "fold": "",
    "role": "test",
    "selection": "last_epoch",
    "metric": "recall_at_1",
}
CELL = {
    "study": "somebody2020",
    "table": "table_01",
    "panel": "a",
    "dataset": "cub200",
    "network": "resnet50",
    "embedding_dim": "64",
    "variant": "",
    "split": "test",
    "metric": "recall_at_1",
    "std": "",
    "note": "",
    "k": 1.0,
}
NO_FINDINGS = pd.DataFrame(columns=AUDIT_COLUMNS, dtype=str)


def ours(**percentages):
    """Method -> one number per seed."""
    return pd.DataFrame(
        [
            RUN | {"method": method, "seed": seed, "value": value / 100}
            for method, values in percentages.items()
            for seed, value in enumerate(values)
        ]
    )


def printed(table="table_01", **numbers):
    cells = [
        CELL
        | {"table": table, "method": method, "value": str(number), "number": float(number)}
        | {"decimals": decimals(str(number))}
        for method, number in numbers.items()
    ]
    return place(pd.DataFrame(cells), Mapping(rules=[{"then": {"split": "half"}}]))


def finding(**columns):
    certain = {"study": "somebody2020", "rule": "bounds", "table": "1a", "sure": "certain"}
    return pd.DataFrame([dict.fromkeys(AUDIT_COLUMNS, "") | certain | columns])


def test_seeds_give_an_interval_and_one_run_a_distance():
    scores = ours(triplet=[60.0, 61.0, 62.0], margin=[60.0, 61.0, 62.0], n_pair=[50], arcface=[50])
    found = verdicts(
        scores, printed(triplet=65.9, margin=66.1, n_pair=51.0, arcface=51.1), NO_FINDINGS
    )
    # 61 +- 4.303 x 1 x sqrt(1 + 1/3) = 4.968
    assert found["rule"].to_list() == ["interval", "interval", "distance", "distance"]
    assert found["verdict"].to_list() == [REPRODUCED, DIFFERS, REPRODUCED, DIFFERS]


def test_a_distance_of_one_is_near_whatever_its_last_bits():
    numbers = [50 + i / 100 for i in range(100)]
    for number in numbers:
        placed = printed(triplet=round(number - 1, 2))
        (verdict,) = verdicts(ours(triplet=[number]), placed, NO_FINDINGS)["verdict"]
        assert verdict == REPRODUCED


def test_what_did_not_run_and_what_cannot_be():
    placed = printed(triplet=60, margin=120, n_pair=61)
    wrong = finding(method="margin", dataset="cub200", metric="recall_at_1")
    found = verdicts(ours(margin=[50.0]), placed, wrong)
    assert found["verdict"].to_list() == [NOT_RUN, CANNOT_BE, NOT_RUN]


@pytest.mark.parametrize(
    ("columns", "about"),
    [
        ({"method": "2 methods", "metric": "recall_at_1"}, ["triplet", "margin"]),
        ({"method": "triplet", "metric": "R@1/2/4"}, ["triplet"]),
        ({"method": "triplet", "metric": "nmi, recall_at_1"}, ["triplet"]),
        ({"method": "triplet", "metric": "R@2/4"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "table": "1b"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "variant": "D"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "sure": "likely"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "rule": "claims"}, []),
    ],
)
def test_which_numbers_a_finding_is_about(columns, about):
    found = verdicts(no_scores(), printed(triplet=60, margin=61), finding(**columns))
    assert found.loc[found["verdict"] == CANNOT_BE, "method"].to_list() == about


def test_a_table_that_repeats_a_number_has_a_verdict_of_its_own():
    placed = pd.concat([printed(triplet=60), printed(table="table_02", triplet=70)])
    found = verdicts(ours(triplet=[60.0]), placed.reset_index(drop=True), NO_FINDINGS)
    assert found["verdict"].to_list() == [REPRODUCED, DIFFERS]


def test_the_summary_counts_and_correlates():
    scores = ours(triplet=[60.0], margin=[62.0], n_pair=[50.0])
    placed = printed(triplet=61.0, margin=60.5, n_pair=55.0, arcface=70.0)
    counts = summary(verdicts(scores, placed, NO_FINDINGS))
    assert (counts["printed"], counts["compared"], counts["orders"]) == (4, 3, 1)
    assert (counts[REPRODUCED], counts[DIFFERS], counts[NOT_RUN]) == (1, 2, 1)
    assert counts["mean_difference"] == pytest.approx((1 + 1.5 + 5) / 3)
    # Ranks 2, 3, 1 of ours and 3, 2, 1 in print.
    assert counts["rank_correlation"] == pytest.approx(0.5)
    nothing = summary(verdicts(no_scores(), placed, NO_FINDINGS))
    assert nothing["mean_difference"] is None
    assert nothing["rank_correlation"] is None


def test_files_of_one_paper_and_of_all(tmp_path):
    reference = REFERENCE / "can2019"
    audit(reference, tmp_path / "audit.csv", tmp_path / "audit.md")
    tables = sorted(reference.glob("table_*.csv"))
    agreement(
        [],
        [],
        tables=[],
        printed=tables,
        findings=tmp_path / "audit.csv",
        note="toy numbers",
        output=tmp_path / "can2019.csv",
    )
    found = pd.read_csv(tmp_path / "can2019.csv")
    assert len(found) == len(read_placed(tables))
    assert set(found["note"]) == {"toy numbers"}
    agreement_of_all([tmp_path / "can2019.csv"], tmp_path / "all.csv", tmp_path / "all.md")
    assert "| can2019 | " in (tmp_path / "all.md").read_text()


@pytest.mark.parametrize("paper", ["can2019", "karaman2021", "musgrave2020", "roth2020"])
def test_without_runs_nothing_is_reproduced(paper, tmp_path):
    placed = read_placed(sorted((REFERENCE / paper).glob("table_*.csv")))
    found = verdicts(no_scores(), placed, NO_FINDINGS)
    assert len(found) == len(placed)
    assert set(found["verdict"]) <= {NOT_RUN, "cited"}
    assert np.array_equal(found["verdict"] == "cited", placed["why"] != "")
