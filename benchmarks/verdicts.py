"""How often each verdict on a printed number comes out, when the truth is known.

    python benchmarks/verdicts.py                       # about ten minutes on one core
    python benchmarks/verdicts.py --studies can2019 --repetitions 1

Simulated runs go through the code that `snakemake agreement` runs. The truth is what is printed,
the same plus 1, 2 or 5 points, the number of another loss of the same column, the column's mean,
uniform noise between 50 and 90, or, for numbers that claim an effect (can2019's PROFS,
roth2020's samplers and regularization), the number without it. Printed numbers scatter around the
truth, and runs of ours as well, by the noise that the paper shows (margins.csv). Numbers of toy
classes, for which no noise is known, and means over folds are left out. Writes
results/benchmarks/verdicts.json and the tables of docs/verdicts.md, and prints them. Verdicts on
claims are simulated by benchmarks/claims.py, which adds its own key to the same file.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dmlbench.evaluation.names import quantity  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.catalogs.rows import NOTHING  # noqa: E402
from dmlbench.plan.studies.margins import read_sources  # noqa: E402
from dmlbench.statistics.aggregation import no_scores  # noqa: E402
from dmlbench.statistics.audit import COLUMNS as AUDIT_COLUMNS  # noqa: E402
from dmlbench.statistics.margins import COLUMN, with_margins, without_effect  # noqa: E402
from dmlbench.statistics.placement import KEY, read_placed  # noqa: E402
from dmlbench.statistics.printed_verdicts import (  # noqa: E402
    DIFFERS,
    INCONCLUSIVE,
    REPRODUCED,
    verdicts,
)
from margins import SEEDS  # noqa: E402

REFERENCE = REPOSITORY / "config" / "reference"
STUDIES = ("psomas2020", "roth2020", "can2019", "karaman2021", "musgrave2020")
RUNS = (1, 2, 3, 5, 10)
TRUTH = "what is printed"
WRONG = ("another loss's number", "the column's mean", "uniform noise, 50 to 90", "no effect")
SCENARIOS = (TRUTH, "printed + 1", "printed + 2", "printed + 5", *WRONG)
OUTCOMES = (REPRODUCED, DIFFERS, INCONCLUSIVE)
PAGE = REPOSITORY / "docs" / "verdicts.md"
NO_FINDINGS = pd.DataFrame(columns=AUDIT_COLUMNS, dtype=str)


def printed_numbers(study: str) -> pd.DataFrame:
    """The numbers whose noise is known, with their margins and, as `judged`, whether five seeds
    can be enough."""
    folder = REFERENCE / study
    placed = with_margins(read_placed(sorted(folder.glob("table_*.csv"))), folder)
    placed = placed[placed["noise"].notna() & (placed["fold"] != "mean")].reset_index(drop=True)
    needed = verdicts(no_scores(), placed, NO_FINDINGS)["seeds_needed"]
    return placed.assign(judged=(needed <= SEEDS).to_numpy())


def truths(study: str, placed: pd.DataFrame, scenario: str, generator) -> np.ndarray:
    """What the runs' numbers are expected to be, [N]; missing where there is no such truth."""
    number = placed["number"].to_numpy()
    if scenario.startswith("printed +"):
        points = float(scenario.split()[-1])
        return np.where(number + points > 100, number - points, number + points)
    if scenario == TRUTH:
        return number
    found = np.full(len(placed), np.nan)
    for _, column in placed.groupby(COLUMN, sort=False):
        own = column.drop_duplicates(["method", "variant"])
        if scenario == "the column's mean":
            if len(own) > 1:
                found[column.index] = own["number"].mean()
            continue
        candidates = (
            column["method"].to_numpy()[:, None] != own["method"].to_numpy()
            if scenario == "another loss's number"
            else without_effect(column, own, read_sources(REFERENCE / study).controls)
        )
        for index, allowed in zip(column.index, candidates, strict=True):
            if allowed.any():
                found[index] = generator.choice(own["number"].to_numpy()[allowed])
    return found


def simulated(study: str, placed: pd.DataFrame, scenario: str, runs: int, generator) -> tuple:
    """The long table of as many runs of every number, and which numbers have them."""
    if scenario.startswith("uniform"):
        values = generator.uniform(50, 90, (len(placed), runs))
    else:
        truth = truths(study, placed, scenario, generator)
        truth = truth + placed["printed_error"].to_numpy() * generator.normal(size=len(placed))
        noise = placed["noise"].to_numpy()[:, None] * generator.normal(size=(len(placed), runs))
        values = truth[:, None] + noise
    ran = np.isfinite(values).all(axis=1)
    # Tables that repeat a number share its runs.
    first = placed[ran & ~placed.duplicated(KEY).to_numpy()]
    table = first.loc[first.index.repeat(runs)]
    factor = np.array([quantity(metric).factor for metric in table["metric"]])
    columns = {name: table[name] for name in (*KEY, "by")}
    scores = pd.DataFrame(NOTHING | columns).assign(
        run="simulated",
        recipe="simulated",
        seed=np.tile(np.arange(runs), len(first)),
        selection=table["selection"].replace("", "last_epoch"),
        value=values[first.index].ravel() / factor,
    )
    return _with_folds(scores), ran


def _with_folds(scores: pd.DataFrame) -> pd.DataFrame:
    """The best fold is the only one, and has a validation score that selects it."""
    best = scores["fold"] == "best"
    folds = scores.assign(fold=scores["fold"].mask(best, "0"))
    runs = folds[best].drop_duplicates(["method", "variant", "seed", "dataset", "network"])
    judged = runs.assign(role="validation", metric=runs["by"], value=0.5)
    return pd.concat([folds, judged], ignore_index=True).drop(columns="by")


def rates(study: str, scenarios: Sequence[str], runs: Sequence[int], repetitions: int) -> list:
    """One row for each scenario and number of runs: how often each verdict comes out."""
    placed = printed_numbers(study)
    rows = []
    for scenario in scenarios:
        for count in runs:
            verdict, judged = [], []
            for repetition in range(repetitions):
                seed = [STUDIES.index(study), SCENARIOS.index(scenario), count, repetition]
                generator = np.random.default_rng(seed)
                scores, ran = simulated(study, placed, scenario, count, generator)
                found = verdicts(scores, placed, NO_FINDINGS)["verdict"].to_numpy()
                verdict.append(found[ran])
                judged.append(placed["judged"].to_numpy()[ran])
            verdict, judged = np.concatenate(verdict), np.concatenate(judged)
            if len(verdict):
                rows.append(
                    {"study": study, "scenario": scenario, "seeds": count}
                    | _counts(verdict, judged)
                )
    return rows


def _counts(verdict: np.ndarray, judged: np.ndarray) -> dict[str, int]:
    of_all = {outcome: int((verdict == outcome).sum()) for outcome in OUTCOMES}
    of_judged = {f"judged {one}": int((verdict[judged] == one).sum()) for one in OUTCOMES}
    return {"numbers": len(verdict), **of_all, "judged": int(judged.sum()), **of_judged}


def tables(rows: list[dict]) -> str:
    """The tables of the page: all papers together, and each paper's rates of error."""
    frame = pd.DataFrame(rows)
    counts = frame.drop(columns="study").groupby(["scenario", "seeds"], sort=False).sum()
    lines = [
        "| truth | seeds | reproduced | differs | inconclusive "
        "| where judged: reproduced | differs | inconclusive |",
        "|---|--:" + "|--:" * 6 + "|",
    ]
    for (scenario, seeds), row in counts.iterrows():
        shares = [_percent(row[outcome], row["numbers"]) for outcome in OUTCOMES]
        shares += [_percent(row[f"judged {outcome}"], row["judged"]) for outcome in OUTCOMES]
        lines.append(f"| {scenario} | {seeds} | {' | '.join(shares)} |")
    lines += ["", "| paper | numbers | judged by five seeds | truth reproduced, five seeds |"]
    lines[-1] += " wrong reproduced, at most | with |"
    lines.append("|---" + "|--:" * 4 + "|---|")
    for study, own in frame.groupby("study", sort=False):
        (truth,) = own[(own["scenario"] == TRUTH) & (own["seeds"] == SEEDS)].to_dict("records")
        wrong = own[own["scenario"].isin(WRONG)]
        worst = wrong.loc[(wrong[REPRODUCED] / wrong["numbers"]).idxmax()]
        numbers = truth["numbers"] // (truth["numbers"] // len(printed_numbers(study)))
        cells = [
            f"{numbers:,}",
            _percent(truth["judged"], truth["numbers"]),
            _percent(truth[f"judged {REPRODUCED}"], truth["judged"]),
            _percent(worst[REPRODUCED], worst["numbers"]),
            f"{worst['scenario']}, {worst['seeds']} seed{'s' if worst['seeds'] > 1 else ''}",
        ]
        lines.append(f"| {study} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f}%" if of else ""


def main() -> None:
    from machine import machine, write_report

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=STUDIES)
    parser.add_argument("--repetitions", type=int, default=2, help="of every simulation")
    options = parser.parse_args()
    rows = []
    for study in options.studies:
        rows += rates(study, SCENARIOS, RUNS, options.repetitions)
        print(f"{study}: simulated", file=sys.stderr)
    text = tables(rows)
    print(text)
    if tuple(options.studies) != STUDIES:
        return
    output = REPOSITORY / "results" / "benchmarks" / "verdicts.json"
    report = {"machine": machine(["numpy", "pandas", "scipy"])}
    report |= {"repetitions": options.repetitions, "rates": rows}
    known = json.loads(output.read_text()) if output.exists() else {}
    write_report(output, known | report)
    write_marked(PAGE, "verdicts", text)


if __name__ == "__main__":
    main()
