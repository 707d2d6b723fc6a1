"""How often each interval holds what it is an interval of, by simulation.

    python benchmarks/intervals.py                # about three minutes on one core
    python benchmarks/intervals.py --trials 50    # rougher

Every interval is to hold its target in 95 % of all cases. Cases: normal scores; one training in ten
that fails altogether, ten standard deviations below the others, with the mean of all trainings and
that of those that do not fail as targets; shares of hits near 0; few classes; shares of variance
near 0. For differences of runs with equal seeds, 100 % less the share that is held is how often a
difference is found where there is none. Writes results/benchmarks/intervals.json and the table of
docs/intervals.md, and prints it.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dmlbench.evaluation import bootstrap, t_interval  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.statistics.aggregation import Coordinates  # noqa: E402
from dmlbench.statistics.confidence import rank_confidence  # noqa: E402
from dmlbench.statistics.equivalence import variance_ratio  # noqa: E402
from dmlbench.statistics.paired import compared, paired  # noqa: E402
from dmlbench.statistics.variance import FIRST, REST, SECOND, variance_shares  # noqa: E402

PAGE = REPOSITORY / "docs" / "intervals.md"
FAILED, DEPTH = 0.1, 10.0
"""The share of trainings that fail, and how many standard deviations below the others they are."""

CHOSEN = "pairs or two samples (`compared`)"
T, PAIRS = "t-interval (`t_interval`)", "paired differences (`paired`)"
QUERIES, CLASSES = "over queries (`bootstrap`)", "over classes (`bootstrap`)"
RANKS, SHARES = "ranks (`rank_confidence`)", "shares of variance (`variance_shares`)"
OVER = {
    T: "other seeds",
    PAIRS: "other seeds",
    CHOSEN: "other seeds",
    QUERIES: "other queries of these classes",
    CLASSES: "other classes",
    RANKS: "other queries, and other seeds if there are several",
    SHARES: "other seeds, with these losses and batches",
}

ALL = "one in ten fails; target: the mean of all"
Case = tuple[str, str, Callable[[np.random.Generator], float]]
"""An interval, what is simulated, and a trial: which share of its intervals hold their target?"""


def scores(generator, count: int, failing: float) -> np.ndarray:
    """Scores of trainings, in standard deviations from those that do not fail."""
    return generator.normal(size=count) - DEPTH * (generator.random(count) < failing)


def holds(interval, target: float) -> bool:
    return bool(interval.low - 1e-12 <= target <= interval.high + 1e-12)


def of_seeds(interval, count: int, failing: float, target: float):
    return lambda generator: holds(interval(scores(generator, count, failing)), target)


def of_chosen(count: int, comparisons: int, together: float, shared: bool):
    """Differences without an effect, whose test is chosen by the variance ratio of all of them.

    Args:
        count: of seeds.
        comparisons: how many are tested together, out of 8.
        together: the correlation of two runs of one seed.
        shared: all are compared with the same reference.
    """

    def trial(generator) -> float:
        own = (1 - abs(together)) ** 0.5
        by_seed = abs(together) ** 0.5 * generator.normal(size=(8, count))
        if shared:
            by_seed[:] = by_seed[0]
        values = np.sign(together) * by_seed + own * generator.normal(size=by_seed.shape)
        references = by_seed + own * generator.normal(size=by_seed.shape)
        if shared:
            references[:] = references[0]
        pairs = list(zip(values, references, strict=True))
        held = []
        for first in range(0, 8, comparisons):
            tested = pairs[first : first + comparisons]
            ratio = variance_ratio(tested)
            held += [holds(compared(*both, ratio=ratio), 0.0) for both in tested]
        return float(np.mean(held))

    return trial


def of_queries(count: int, share: float):
    def trial(generator) -> bool:
        hits = (generator.random(count) < share).astype(float)
        return holds(bootstrap(hits, resamples=400, seed=int(generator.integers(2**31))), share)

    return trial


def of_classes(count: int):
    def trial(generator) -> bool:
        hits = generator.random((count, 30)) < generator.beta(2, 2, (count, 1))
        classes = np.repeat(np.arange(count), 30)
        seed = int(generator.integers(2**31))
        return holds(bootstrap(hits.ravel() * 1.0, classes=classes, resamples=400, seed=seed), 0.5)

    return trial


def of_ranks(seeds: int, failing: float):
    """Three equal methods: every rank from 1 to 3 is their true one.

    The interval of one seed is that of its trainings.
    """
    noise = 0.02 if seeds > 1 else 0.0

    def trial(generator) -> bool:
        answers = {
            Coordinates("toy", "net", 64, name, "short", "", "half", "", seed): pd.Series(
                generator.normal(0.5, 0.3, 100) + noise * scores(generator, 1, failing)
            )
            for name in ("a", "b", "c")
            for seed in range(seeds)
        }
        seed = int(generator.integers(2**31))
        found = rank_confidence(answers, methods=["a", "b", "c"], resamples=200, seed=seed)
        return found.loc[0, ["rank_low", "rank_high"]].tolist() == [1, 3]

    return trial


def of_shares(source: str, seeds: int, loss: float, batch: float, failing: float):
    """Seven losses and six batches, whose means have these deviations; that of seeds is 1."""

    def trial(generator) -> bool:
        effects = [
            size * (drawn - drawn.mean()) / drawn.std()
            for size, drawn in zip(
                (loss, batch), (generator.normal(size=7), generator.normal(size=6)), strict=True
            )
        ]
        cube = effects[0][:, None, None] + effects[1][:, None]
        cube = cube + scores(generator, 42 * seeds, failing).reshape(7, 6, seeds)
        places = np.indices(cube.shape).reshape(3, -1)
        values = pd.DataFrame(dict(zip(("loss", "batch", "seed"), places, strict=True)))
        rest = 1 + failing * (1 - failing) * DEPTH**2
        parts = {FIRST: loss**2, SECOND: batch**2, REST: rest}
        found = variance_shares(values.assign(value=cube.ravel()), "loss", "batch")
        return holds(found[source], parts[source] / sum(parts.values()))

    return trial


def cases() -> list[Case]:
    """Every case of the table, in its order."""
    found: list[Case] = []
    for kind, interval in ((T, t_interval), (PAIRS, paired)):
        for count in (3, 5, 10):
            lines = {
                "normal": (0.0, 0.0),
                "one in ten fails; target: those that do not": (FAILED, 0.0),
                ALL: (FAILED, -FAILED * DEPTH),
            }
            for what, (failing, target) in lines.items():
                trial = of_seeds(interval, count, failing, target)
                found.append((kind, f"{count} seeds, {what}", trial))
    for count in (2, 3, 5, 10):
        for what, comparisons, together, shared in (
            ("one comparison, independent", 1, 0.0, False),
            ("8 comparisons, independent", 8, 0.0, False),
            ("8 with one reference, independent", 8, 0.0, True),
            ("8 comparisons, correlation 0.2", 8, 0.2, False),
            ("8 comparisons, correlation 0.8", 8, 0.8, False),
            ("8 comparisons, correlation -0.2", 8, -0.2, False),
        ):
            trial = of_chosen(count, comparisons, together, shared)
            found.append((CHOSEN, f"{count} seeds, {what}", trial))
    for count, share in ((50, 0.6), (50, 0.03), (50, 0.01), (1000, 0.6), (1000, 0.01)):
        found.append((QUERIES, f"{count} queries, {share:.0%} hits", of_queries(count, share)))
    found += [(CLASSES, f"{count} classes of 30", of_classes(count)) for count in (10, 30, 100)]
    for seeds, failing in ((1, 0.0), (5, 0.0), (5, FAILED)):
        what = (
            f"{seeds} seed{'s' if seeds > 1 else ''}, {'one in ten fails' if failing else 'normal'}"
        )
        found.append((RANKS, what, of_ranks(seeds, failing)))
    for seeds in (3, 5):
        for what, source, *sizes in (
            ("true share 0%", FIRST, 0.0, 0.0, 0.0),
            ("true share 1%", FIRST, 0.1, 0.1, 0.0),
            ("true share 4%", FIRST, 0.2, 0.2, 0.0),
            ("true share 79%", FIRST, 2.0, 0.3, 0.0),
            ("rest of 98%", REST, 0.1, 0.1, 0.0),
            ("true share 27%, one in ten fails", FIRST, 2.0, 1.0, FAILED),
        ):
            found.append((SHARES, f"{seeds} seeds, {what}", of_shares(source, seeds, *sizes)))
    return found


def coverage(case: Case, trials: int) -> float:
    """In which share of trials the interval holds its target; trials have fixed seeds."""
    kind, what, trial = case
    seed = [ord(letter) for letter in kind + what]
    return float(np.mean([trial(np.random.default_rng([*seed, one])) for one in range(trials)]))


def widening(count: int, trials: int) -> float:
    """How many times as wide a t-interval that knows of no failures must be to hold the mean of
    all trainings in 95 %, if one in ten fails."""
    generator = np.random.default_rng(count)

    def times() -> float:
        found = t_interval(scores(generator, count, FAILED))
        middle = (found.low + found.high) / 2
        return abs(-FAILED * DEPTH - middle) / (found.high - middle)

    return float(np.quantile([times() for _ in range(10 * trials)], 0.95))


def table(rows: list[dict]) -> str:
    lines = ["| interval | over | simulated | holds |", "|---|---|---|--:|"]
    lines += [
        f"| {row['interval']} | {OVER[row['interval']]} | {row['simulated']} "
        f"| {100 * row['coverage']:.1f}% |"
        for row in rows
    ]
    return "\n".join(lines)


def sentence(wider: dict) -> str:
    each = ", ".join(f"{times:.1f} times with {count} seeds" for count, times in wider.items())
    return (
        f"To hold the mean of all trainings if one in ten fails, a t-interval would have to be "
        f"wider: {each}."
    )


def main() -> None:
    from machine import machine, write_report

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=200, help="of each case")
    trials = parser.parse_args().trials
    rows = [
        {"interval": case[0], "simulated": case[1], "coverage": coverage(case, trials)}
        for case in cases()
    ]
    wider = {count: widening(count, trials) for count in (3, 5, 10)}
    text = table(rows) + "\n\n" + sentence(wider)
    print(text)
    output = REPOSITORY / "results" / "benchmarks" / "intervals.json"
    report = {"machine": machine(["numpy", "pandas", "scipy"]), "trials": trials, "rows": rows}
    report["times_as_wide"] = wider
    write_report(output, report)
    write_marked(PAGE, "coverage", text)


if __name__ == "__main__":
    main()
