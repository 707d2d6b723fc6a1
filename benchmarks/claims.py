"""How often each verdict on a claim comes out, when the truth is known.

    python benchmarks/claims.py                       # about half an hour on one core
    python benchmarks/claims.py --repetitions 5

Scores are simulated on the splits that the studies of birds and cars have, and go through the code
that `snakemake claims` runs (`simulated_claims`). Each simulation is kept in `--work`,
and the next call continues there. Writes the key `claims` of results/benchmarks/verdicts.json and
its tables of docs/verdicts.md, and prints them.
"""

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dmlbench.files import atomic_write  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.statistics.equivalence import POWER  # noqa: E402
from simulated_claims import (  # noqa: E402
    ASSUMED,
    CLAIMS,
    CLASSES,
    DESIGNS,
    FEWER,
    INTERVALS,
    OTHER_SHARES,
    OUTCOMES,
    Shares,
    cases,
    parts_of,
    repetition,
)

PAGE = REPOSITORY / "docs" / "verdicts.md"
OUTPUT = REPOSITORY / "results" / "benchmarks" / "verdicts.json"


def summarized(rows: Sequence[dict]) -> tuple[list[dict], list[dict]]:
    """The rates of verdicts; and how often intervals hold, with the smallest difference that they
    show, without regard to the smallest that matters, with a probability of 80 %."""
    rates, floors = [], []
    frame = pd.DataFrame(rows)
    by = ["data", "design", "claim", "truth"]
    wrong = {(case.claim, case.says): case.wrong for case in cases()}
    for key, own in frame.groupby(by, sort=False):
        told = dict(zip(by, key, strict=True))
        if told.pop("truth") == INTERVALS:
            floor = float(np.quantile(-own["low"], POWER))
            floors.append(told | {"floor": floor, "holds": float(own["holds"].mean())})
            continue
        count = Counter(own["verdict"])
        rates.append(
            told
            | {"truth": key[-1], "simulations": len(own)}
            | {outcome: count[outcome] for outcome in OUTCOMES}
            | {"holds": int(own["holds"].astype(bool).sum()), "wrong": wrong[key[2:]]}
        )
    return rates, floors


def reported(rows: Sequence[dict], others: Mapping[Shares, Sequence[dict]]) -> dict:
    """What is published: the simulated variances, the rates of verdicts, and the floors.

    Args:
        rows: all of `repetition`, with the shares that are assumed.
        others: the same with other shares.
    """
    parts = {
        data: {loss: own._asdict() for loss, own in parts_of(data).items()} for data in CLASSES
    }
    rates, floors = summarized(rows)
    other = [
        {"shares": shares._asdict(), "floors": summarized(own)[1]} for shares, own in others.items()
    ]
    common = {"repetitions": rates[0]["simulations"], "parts": parts, "shares": ASSUMED._asdict()}
    return common | {"rates": rates, "floors": floors, "fewer": FEWER, "other_shares": other}


def tables(report: Mapping) -> str:
    """The text of the page: what is simulated, and tables; birds and cars together in the first.

    Args:
        report: as `reported` gives it.
    """
    frame, floors = pd.DataFrame(report["rates"]), pd.DataFrame(report["floors"])
    lines = [*_simulated(report), ""]
    lines += ["| claim | truth | " + " | ".join(DESIGNS) + " |", "|---" * (2 + len(DESIGNS)) + "|"]
    wrong = {(row["claim"], row["truth"]): row["wrong"] for row in report["rates"]}
    counts = frame.groupby(["claim", "truth", "design"])[["simulations", *OUTCOMES]].sum()
    for key, bold in wrong.items():
        cells = [_cell(counts.loc[(*key, design)], bold) for design in DESIGNS]
        lines.append(f"| {' | '.join([*key, *cells])} |")
    lines += ["", "| design | wrong, at most | with |", "|---|--:|---|"]
    together = counts.reset_index()
    together["wrong"] = list(map(wrong.get, zip(together["claim"], together["truth"], strict=True)))
    for design in DESIGNS:
        own = together[together["design"] == design]
        share, *which = max(wrong_rates(own.to_dict("records")))
        lines.append(f"| {design} | {100 * share:.1f}% | {', '.join(which)} |")
    claims = list(floors["claim"].unique())
    lines += ["", "| data | design |"]
    lines[-1] += "".join(f" 95 % interval holds: {claim} |" for claim in claims)
    lines[-1] += "".join(f" shown with 80 %: {claim} |" for claim in claims)
    lines.append("|---|---|" + "--:|" * 2 * len(claims))
    for data, design in itertools.product(CLASSES, DESIGNS):
        own = floors[(floors["data"] == data) & (floors["design"] == design)]
        own = own.set_index("claim").loc[claims]
        cells = [*map("{:.1%}".format, own["holds"]), *map("{:.1f}".format, own["floor"])]
        lines.append(f"| {' | '.join([data, design, *cells])} |")
    lines += ["", *_of_other_shares(report)]
    return "\n".join(lines)


def _of_other_shares(report: Mapping) -> list[str]:
    """A table of intervals where other shares than those assumed are true."""
    _, _, each, *_ = CLAIMS
    lines = [
        f"The intervals of the 21 differences where other shares are true, {report['fewer']} "
        "simulations for each data set:",
        "",
        "| shares | data | " + " | ".join(DESIGNS) + " |",
        "|---|---|" + "--:|" * len(DESIGNS),
    ]
    for other in report["other_shares"]:
        for data in CLASSES:
            holds = {
                row["design"]: f"{row['holds']:.1%}"
                for row in other["floors"]
                if (row["data"], row["claim"]) == (data, each)
            }
            cells = [_ratio(other["shares"]), data, *map(holds.get, DESIGNS)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _ratio(shares: Mapping[str, float]) -> str:
    return " : ".join(f"{100 * share:.0f}" for share in shares.values())


def _simulated(report: Mapping) -> list[str]:
    """What is simulated, one line for each data set."""
    found = [
        f"{report['repetitions']} simulations for each data set. Variances of one loss's R@1, in "
        "points², from split to split beyond seeds (classes that are tested : classes that train : "
        f"queries = {_ratio(report['shares'])}) and from seed to seed:",
        "",
    ]
    for data, of_loss in report["parts"].items():
        groups: dict[tuple, list[str]] = {}
        for loss, parts in of_loss.items():
            groups.setdefault(tuple(parts.values()), []).append(loss)
        (most, *others) = sorted(groups.items(), key=lambda group: -len(group[1]))
        told = [f"{most[0][0]:.2f} and {most[0][1]:.2f}"]
        told += [
            f"{', '.join(names)} {splits:.2f} and {seeds:.2f}" for (splits, seeds), names in others
        ]
        found.append(f"- {data}: {'; '.join(told)}")
    return found


def wrong_rates(rates: Sequence[Mapping]) -> list[tuple[float, str, str, str]]:
    """How often each wrong verdict comes out: the share, claim, truth and verdict."""
    return [
        (row[verdict] / row["simulations"], row["claim"], row["truth"], verdict)
        for row in rates
        for verdict in row["wrong"]
    ]


def _cell(row: pd.Series, wrong: Sequence[str]) -> str:
    """The four shares; wrong ones are bold."""
    shares = [(outcome, _percent(row[outcome], row["simulations"])) for outcome in OUTCOMES]
    return " · ".join(f"**{share}**" if outcome in wrong else share for outcome, share in shares)


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f}"


def main() -> None:
    from machine import machine, write_report

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=200, help="for each data set")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build" / "claims")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    def kept(name: str, simulation: Callable[[], list[dict]]) -> list[dict]:
        file = options.work / f"{name}.json"
        if not file.exists():
            with atomic_write(file) as unfinished:
                unfinished.write_text(json.dumps(simulation()))
        return json.loads(file.read_text())

    rows, others = [], {shares: [] for shares in OTHER_SHARES}
    for number, data in itertools.product(range(options.repetitions), CLASSES):
        rows += kept(f"{data}-{number}", partial(repetition, data, number))
        for index, shares in enumerate(OTHER_SHARES if number < FEWER else ()):
            of_shares = partial(repetition, data, number, chosen=[], shares=shares)
            others[shares] += kept(f"{data}-{number}-{index}", of_shares)
    report = reported(rows, others)
    print(tables(report))
    if options.repetitions < 100:
        return
    known = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    write_report(
        OUTPUT, known | {"claims": {"machine": machine(["numpy", "pandas", "scipy"]), **report}}
    )
    write_marked(PAGE, "claims", tables(report))


if __name__ == "__main__":
    main()
