"""The files of verdicts, and their summary."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.statistics.aggregation import no_scores
from dmlbench.statistics.agreement import agreement, agreement_of_all, counted, summary
from dmlbench.statistics.audit import audit
from dmlbench.statistics.margins import with_margins
from dmlbench.statistics.placement import read_placed
from dmlbench.statistics.printed_verdicts import (
    CANNOT_BE,
    DIFFERS,
    INCONCLUSIVE,
    REPRODUCED,
    verdicts,
)

REFERENCE = Path(__file__).parents[2] / "config" / "reference"


def found_of(**numbers):
    """Method -> printed number, ours and verdict, in one column."""
    rows = [
        {"method": method, "printed": printed, "ours": ours, "verdict": verdict}
        for method, (printed, ours, verdict) in numbers.items()
    ]
    places = ("table", "panel", "dataset", "network", "embedding_dim", "split", "fold", "role")
    found = pd.DataFrame(rows).assign(**dict.fromkeys((*places, "metric"), ""))
    return found.assign(difference=found["ours"] - found["printed"])


def test_the_summary_counts_and_correlates():
    counts = summary(
        found_of(
            triplet=(61.0, 60.0, REPRODUCED),
            margin=(60.5, 62.0, INCONCLUSIVE),
            n_pair=(55.0, 50.0, DIFFERS),
            arcface=(70.0, np.nan, "not run"),
        )
    )
    assert (counts["printed"], counts["compared"], counts["orders"]) == (4, 3, 1)
    assert (counts[REPRODUCED], counts[DIFFERS], counts[INCONCLUSIVE]) == (1, 1, 1)
    assert counts["mean_difference"] == pytest.approx((1 + 1.5 + 5) / 3)
    # Ranks 2, 3, 1 of ours and 3, 2, 1 in print.
    assert counts["rank_correlation"] == pytest.approx(0.5)
    nothing = summary(found_of(triplet=(61.0, np.nan, "not run")))
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
    lines = counted(tmp_path / "all.csv", tmp_path / "all.md")
    assert lines[0] == "can2019: 535 printed numbers: 467 not run, 68 cited"
    assert "| can2019 | 467 | 0 | 0 | 0 | 467 | 0 | 68 | " in (tmp_path / "all.md").read_text()


def test_a_terminal_shows_every_verdict_of_every_paper_and_the_files(tmp_path):
    told = {"b": ["differs", "reproduced", "differs"], "a": ["cited", "cannot be", "inconclusive"]}
    rows = [(study, verdict) for study, verdicts in told.items() for verdict in verdicts]
    rows += [("a", "not run")] * 1234
    pd.DataFrame(rows, columns=["study", "verdict"]).to_csv(tmp_path / "all.csv", index=False)
    assert counted(tmp_path / "all.csv", "all.md") == [
        "b: 3 printed numbers: 1 reproduced, 2 differs",
        "a: 1,237 printed numbers: 1 inconclusive, 1,234 not run, 1 cannot be, 1 cited",
        f"all.md: the counts; {tmp_path / 'all.csv'}: every number with its verdict",
    ]


@pytest.mark.slow
def test_a_column_at_its_own_best_epoch_is_judged_by_such_scores_alone(tmp_path):
    """R@1 and NMI of roth2020, of a run whose history has R@1 alone and of one that has both."""
    columns = {"dataset": "cub200", "network": "resnet50", "embedding_dim": 128, "split": "half"}
    rows = [
        columns | {"method": method, "recipe": "roth2020", "seed": 0, "run": method}
        for method in ("histogram", "n_pair")
    ]
    table = {"role": "test", "value": 0.6}
    scores = [
        table | {"selection": rule, "metric": metric}
        for rule in ("best_test_epoch", "last_epoch")
        for metric in ("recall_at_1", "nmi")
    ]
    own = [table | {"selection": "own_best_test_epoch", "metric": "nmi", "value": 0.7}]
    for method, found in (("histogram", scores), ("n_pair", [*scores, *own])):
        pd.DataFrame(found).to_parquet(tmp_path / f"{method}.parquet")
    reference = REFERENCE / "roth2020"
    audit(reference, tmp_path / "audit.csv", tmp_path / "audit.md")
    agreement(
        [row | {"selection": "best_test_epoch"} for row in rows],
        [tmp_path / f"{row['method']}.parquet" for row in rows],
        tables=[],
        printed=[reference / "table_04.csv"],
        findings=tmp_path / "audit.csv",
        output=tmp_path / "roth2020.csv",
    )
    found = pd.read_csv(tmp_path / "roth2020.csv").set_index(["method", "metric"])
    ours = found.loc[found["ours"].notna() & found["variant"].isna(), ["ours", "selection"]]
    assert ours.T.to_dict("list") == {
        ("histogram", "recall_at_1"): [60, "best_test_epoch"],
        ("n_pair", "recall_at_1"): [60, "best_test_epoch"],
        ("n_pair", "nmi"): [70, "own_best_test_epoch"],
    }
    assert found.loc[("histogram", "nmi"), "verdict"] == "not run"


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["can2019", "karaman2021", "musgrave2020", "roth2020"])
def test_without_runs_nothing_is_reproduced_and_a_formula_makes_no_number_impossible(
    paper, tmp_path
):
    folder = REFERENCE / paper
    audit(folder, tmp_path / "audit.csv", tmp_path / "audit.md")
    placed = with_margins(read_placed(sorted(folder.glob("table_*.csv"))), folder)
    findings = pd.read_csv(tmp_path / "audit.csv", dtype=str, keep_default_na=False)
    found = verdicts(no_scores(), placed, findings)
    assert len(found) == len(placed)
    assert set(found["verdict"]) <= {"not run", CANNOT_BE, "cited"}
    assert np.array_equal(found["verdict"] == "cited", placed["why"] != "")
    # Equations 30 of roth2020 and its NMI are misprinted; of its numbers, one is.
    assert (found["verdict"] == CANNOT_BE).sum() <= 1
