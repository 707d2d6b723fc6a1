"""What a study of losses on several networks and data sets can show of their order, by simulation.

    python benchmarks/crossed_orders.py                # about three minutes on one core
    python benchmarks/crossed_orders.py --trials 20    # rougher

Scores are drawn with known components of variance. Two splits of one network and data set correlate
by 0.5, as R@1 of nine losses' frozen heads does in what is published of birds, cars and drawings:
35 % of the variance is of the classes, 15 % of one run alone, and the other half is divided between
the loss and its interactions. Every 95 %
interval is to hold its target in 95 % of all cases. Writes results/benchmarks/crossed-orders.json
and the table of docs/intervals.md, and prints it.
"""

import argparse
import itertools
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.statistics import generalizability  # noqa: E402
from dmlbench.statistics.generalizability import (  # noqa: E402
    AHEAD,
    LOSS,
    NEITHER,
    REST,
    WITH_BOTH,
    WITH_CLASSES,
    WITH_DATASET,
    WITH_NETWORK,
    agreements,
    by_run,
    shares,
)
from dmlbench.statistics.order_means import over_cells  # noqa: E402

PAGE = REPOSITORY / "docs" / "intervals.md"
RESULTS = REPOSITORY / "results" / "benchmarks" / "crossed-orders.json"

DESIGNS = [(9, 2, 3), (9, 3, 3), (20, 2, 3)]
"""Losses, networks and data sets."""
OWN = [1.0, 0.5, 0.0]
"""Of the variance that is neither of classes nor of single runs, the share of the loss."""
DRAWS = 1000
"""Of each bootstrap, a tenth of those of a table, which take ten times as long."""
NOISE = {WITH_CLASSES: 0.35, REST: 0.15}

_LEVELS = {
    LOSS: "",
    WITH_NETWORK: "n",
    WITH_DATASET: "d",
    WITH_BOTH: "nd",
    WITH_CLASSES: "ds",
    REST: "nds",
}
"""Source -> what its effects differ by: network, data set, split."""


def drawn(
    random: np.random.Generator,
    components: Mapping[str, float],
    *,
    losses: int = 9,
    networks: int = 2,
    datasets: int = 3,
    splits: int = 2,
) -> pd.DataFrame:
    """A long table of normal scores; each run has a mean of its own.

    Args:
        components: source -> its variance.
    """
    counts = {"n": networks, "d": datasets, "s": splits}
    runs = list(itertools.product(*map(range, counts.values())))
    values = np.tile(random.normal(50, 10, len(runs)), (losses, 1))
    for source, variance in components.items():
        levels = _LEVELS[source]
        size = [losses, *(counts[level] for level in levels)]
        effects = random.normal(0, variance**0.5, size)
        for place, run in enumerate(runs):
            at = dict(zip(counts, run, strict=True))
            values[:, place] += effects[(slice(None), *(at[level] for level in levels))]
    rows = [
        {"network": f"n{n}", "dataset": f"d{d}", "split": f"s{s}", "method": f"m{loss}", "seed": 0}
        | {"value": values[loss, place]}
        for place, (n, d, s) in enumerate(runs)
        for loss in range(losses)
    ]
    return pd.DataFrame(rows)


def simulated(design: tuple[int, int, int], own: float, trials: int) -> dict:
    """How often intervals hold their target, and how often they show something."""
    share = (1 - sum(NOISE.values())) * own
    each = (1 - sum(NOISE.values()) - share) / 3
    interactions = dict.fromkeys([WITH_NETWORK, WITH_DATASET, WITH_BOTH], each)
    components = {LOSS: share} | interactions | NOISE
    ahead = share - 3 * each
    sizes = dict(zip(("losses", "networks", "datasets"), design, strict=True))
    found = []
    for trial in range(trials):
        random = np.random.default_rng([*design, round(100 * own), trial])
        true = random.normal(0, share**0.5, design[0])
        scores = drawn(random, components | {LOSS: 0.0}, **sizes)
        place = scores["method"].str.removeprefix("m").astype(int)
        table = by_run(scores.assign(value=scores["value"] + true[place]))
        more, alike = shares(table, scaled=False)[AHEAD], agreements(table)[NEITHER].pearson
        means = over_cells(table)
        off = true - true.mean()
        found.append(
            {
                "holds_ahead": more.low <= ahead <= more.high,
                "holds_correlation": alike.low <= share <= alike.high,
                "holds_means": ((means["low"] <= off) & (off <= means["high"])).mean(),
                "shown_more": more.low > 0,
                "shown_less": more.high < 0,
                "shown_alike": alike.low > 0,
            }
        )
    return sizes | {"own": share, "ahead": ahead} | pd.DataFrame(found).mean().to_dict()


def table(rows: list[dict]) -> str:
    lines = [
        "| losses | networks | data sets | true share of the loss | of interactions "
        "| shown: loss more | loss less | orders agree "
        "| holds: difference of shares | correlation | means |",
        "|" + "--:|" * 11,
    ]
    for row in rows:
        sizes = [row["losses"], row["networks"], row["datasets"]]
        true = [row["own"], row["own"] - row["ahead"]]
        rates = [row[f"shown_{key}"] for key in ("more", "less", "alike")]
        rates += [row[f"holds_{key}"] for key in ("ahead", "correlation", "means")]
        cells = [*map(str, sizes), *(f"{100 * value:.0f}%" for value in [*true, *rates])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    from machine import machine, write_report

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=60, help="of each case")
    trials = parser.parse_args().trials
    generalizability._DRAWS = DRAWS
    rows = [simulated(design, own, trials) for design in DESIGNS for own in OWN]
    print(table(rows))
    report = {"machine": machine(["numpy", "pandas", "scipy"]), "trials": trials, "rows": rows}
    write_report(RESULTS, report)
    write_marked(PAGE, "crossed orders", table(rows))


if __name__ == "__main__":
    main()
