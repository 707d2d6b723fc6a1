"""Tables of findings: one function per design of studies, from published scores."""

import re
from collections.abc import Mapping
from functools import partial

import pandas as pd
from dmlbench.statistics.aggregation import read_scores
from published_scores import (
    PUBLISHED,
    by_seed,
    by_split,
    every_metric,
    last_epoch,
    mean_ranks,
    of_pairs,
    of_splits,
    repeated,
)
from score_tables import (
    Column,
    differences,
    markdown,
    numbers,
    over,
    published,
    published_rows,
    published_table,
    ranked,
    signed,
    spread,
    table,
    with_mean,
)

HALF = "official halves"
FIVE = "five splits"
METRICS = {"R@1": "recall_at_1", "MAP@R": "map_at_r"}
FOUR = ["contrastive", "triplet", "margin", "multi_similarity"]
LOW_RATES = ["generalized_lifted", "n_pair", "quadruplet"]
"""The losses of roth2020 whose searches on birds and cars end at low rates: they learn least."""

MINED = ("without_miner,tuned_without", "with_miner,tuned_with")


def tournament(study: str, panel: str = "R@1", trained: bool = False) -> str:
    """Losses on the official halves and on five splits; trained networks next to frozen heads."""
    metric, frozen = METRICS[panel], study.removesuffix("_trained")
    tuned = by_split(study, metric)["tuned"]
    of_seeds = pd.concat(
        [repeated(study, metric)["tuned"], repeated(frozen, metric)[""]], axis=1
    ).drop(columns="untrained" if trained else [])
    columns = {
        HALF: spread(of_seeds.loc["half"]),
        FIVE: numbers(of_seeds.groupby(level="split").mean().mean()),
        "less Contrastive": over(tuned, "contrastive")
        if trained
        else published(study, "over_contrastive", panel=panel),
    }
    if trained:
        heads = by_split(frozen, metric)["tuned"].loc[tuned.index, tuned.columns]
        columns["less its frozen head"] = differences(tuned, heads, None)
    columns["mean rank"] = numbers(mean_ranks(tuned), 1, lower=True)
    return table(columns, ranked(tuned))


def halves(study: str) -> str:
    """Losses over halves and their swaps."""
    columns = {}
    for title, metric in METRICS.items():
        columns[title] = numbers(by_split(study, metric).mean().droplevel(0))
        columns[f"{title} less Contrastive"] = published(study, "over_contrastive", panel=title)
    tuned = by_split(study, "recall_at_1")["tuned"]
    return table(columns | {"mean rank": numbers(mean_ranks(tuned), 1, lower=True)}, ranked(tuned))


def swaps() -> str:
    """R@1 of losses on birds and on cars over halves and their swaps."""
    columns = {}
    for data in ("birds", "cars"):
        study = f"psomas2020_{data}_swaps"
        columns[data] = numbers(by_split(study, "recall_at_1").mean().droplevel(0))
        columns[f"{data}, less Contrastive"] = published(study, "over_contrastive")
    return table(columns)


def spectral_decay(study: str) -> str:
    """Losses over splits of the classes, with the decay of their embeddings."""
    tuned = by_split(study, "recall_at_1")["tuned"]
    columns = {
        "R@1": numbers(tuned.mean()),
        "mean rank": numbers(mean_ranks(tuned), 1, lower=True),
        "rho": numbers(every_metric("split", study)["rho", "tuned"].mean(), lower=None),
    }
    return table(columns, ranked(tuned))


def decay_of_five_seeds() -> str:
    """Losses on the official halves of birds and of cars over five seeds, with their decay."""
    columns, means = {}, []
    for data in ("birds", "cars"):
        scores = every_metric("seed", f"roth2020_{data}_seeds")
        recall, rho = 100 * scores["recall_at_1", "tuned"], scores["rho", "tuned"]
        columns |= {data: spread(recall), f"rho, {data}": numbers(rho.mean(), lower=None)}
        means.append(recall)
    return table(columns, ranked(sum(means)))


def decay_correlations() -> str:
    """Pearson's correlation of R@1 and rho over losses of heads, for other classes and seeds."""
    rows: dict[str, dict[str, str]] = {}
    for title, study, repeats, interval, least in (
        ("birds", "roth2020_birds", "split", of_splits, LOW_RATES),
        ("cars", "roth2020_cars", "split", of_splits, LOW_RATES),
        ("drawings", "roth2020_drawings", "split", of_splits, ["generalized_lifted"]),
        ("birds, five seeds", "roth2020_birds_seeds", "seed", of_pairs, LOW_RATES),
        ("cars, five seeds", "roth2020_cars_seeds", "seed", of_pairs, LOW_RATES),
    ):
        scores = every_metric(repeats, study)
        rho, recall = (scores[metric, "tuned"] for metric in ("rho", "recall_at_1"))
        ascending = rho.mean().sort_values().index
        for words, losses in {
            "fourteen losses": ascending,
            "without the four of the highest rho": ascending[:-4],
            "without those that learn least": ascending.drop(least),
        }.items():
            correlation = rho[losses].corrwith(recall[losses], axis=1)
            rows.setdefault(words, {})[title] = signed(*interval(correlation))
    return markdown(rows, "correlation over")


def correlations() -> str:
    """What goes with R@1 on handwriting and photographs: Pearson's coefficient and Spearman's."""
    of = {
        data: published_table(f"roth2020_{study}", "correlation").set_index("With R@1")
        for data, study in (("handwriting", "omniglot"), ("photographs", "grocery"))
    }
    rows = {
        measure: {
            f"{data}{title}": cell
            for data, found in of.items()
            for title, cell in (
                ("", "{pearson:.2f} [{low:.2f}, {high:.2f}]".format(**found.loc[measure])),
                (", Spearman", f"{found.loc[measure].spearman:.2f}"),
            )
        }
        for measure in of["handwriting"].index
    }
    return markdown(rows, "measure of the training embeddings")


def projections(data: str) -> str:
    """What alternating projections change, compared with as few anchors and with the loss alone."""
    study = f"can2019_{data}"
    scores = by_split(study, "recall_at_1")
    (alone,) = (name for name in scores.columns.levels[0] if name.startswith("pairs"))
    columns = {
        "alone": numbers(with_mean(scores[alone][FOUR]).mean(), lower=None),
        "control less alone": published(study, "differences", "M = 1, tuned"),
        "PROFS less control": published(study, "projections", "PROFS, tuned"),
        "PROFS with HNCM less control": published(study, "projections", "PROFS-HNCM, tuned"),
        "PROFS less alone": published(study, "differences", "PROFS, tuned"),
    }
    return table(columns, ranked(scores[alone][FOUR]))


def triplet_losses(data: str) -> str:
    """Triplet losses without and with the miner, over splits of the classes."""
    study = f"karaman2021_{data}"
    scores = by_split(study, "recall_at_1")
    without, mined = (scores[variant] for variant in MINED)
    others = by_split(f"psomas2020_{data}", "recall_at_1")[""].loc[without.index]
    columns = {
        "no miner": numbers(pd.concat([without, others], axis=1).mean()),
        "less DistanceSensitive": published(study, "force"),
        "miner": numbers(mined.mean()),
        "gain from the miner": published(study, "gain", "with the miner, tuned"),
    }
    return table(columns, ranked(without), years=False)


def triplet_losses_of_ten_seeds() -> str:
    """Triplet losses on the official halves over ten seeds, without and with the miner."""
    columns, means = {}, []
    for data in ("birds", "cars"):
        scores = by_seed(f"karaman2021_{data}_seeds", "recall_at_1")
        without, mined = (scores[variant] for variant in MINED)
        columns[f"{data}, no miner"] = spread(pd.concat([without, scores[""]], axis=1))
        columns[f"{data}, miner"] = spread(mined)
        means.append(without)
    return table(columns, ranked(sum(means)), years=False)


def luck() -> str:
    """R@1 by search, and the standard deviations that search, loss and seed make."""
    study = "psomas2020_birds_tuning"
    searches = [by_seed(study, "recall_at_1")[f"searched={number}"] for number in range(1, 5)]
    columns = {f"search {n}": numbers(each.mean()) for n, each in enumerate(searches, 1)}
    rows = {
        _source(row.Source): {
            f"{title}, points": f"{row[f'{metric}_std']:.2f}" for title, metric in METRICS.items()
        }
        for _, row in published_table(study, "luck").iterrows()
    }
    return f"{table(columns)}\n\n{markdown(rows, 'standard deviation by')}"


def shares(study: str, tables: Mapping[str, str], metric: str = "recall_at_1") -> str:
    """Shares of a metric's variance in percent, with their intervals."""
    of = {title: published_table(study, name) for title, name in tables.items()}
    cell = f"{{{metric}_share:.1f}} [{{{metric}_low:.1f}}, {{{metric}_high:.1f}}]"
    rows = {
        _source(source): {title: cell.format(**found.iloc[number]) for title, found in of.items()}
        for number, source in enumerate(next(iter(of.values()))["Source"])
    }
    return markdown(rows, "share of the variance, percent")


def rows_of(study: str, *tables: str, drop: str = "") -> str:
    """The rows of published tables, each with its differences in R@1 and MAP@R."""
    rows = {}
    for name in tables:
        of = {title: published_rows(study, name, title) for title in METRICS}
        rows |= {row.removeprefix(drop): {t: of[t][row] for t in of} for row in of["R@1"]}
    return markdown(rows, "arm")


def samplers() -> str:
    """What batch samplers change in two losses, one row per sampler."""
    rows: dict[str, dict[str, str]] = {}
    for name, cell in published_rows("roth2020_omniglot", "samplers").items():
        loss, _, sampler = name.partition(", sampler = ")
        rows.setdefault(sampler, {})[loss] = cell
    return markdown(rows, "sampler")


def runs(
    study: str,
    metric: str = "recall_at_1",
    variant: str = "",
    *,
    mean: bool = False,
    selection: str = "last_epoch",
) -> Column:
    """Mean and standard deviation over the seeds of a variant, and of the untrained network."""
    of = partial(last_epoch, study, metric, selection=selection)
    losses = of(variant=variant).drop(columns="untrained", errors="ignore")
    losses = with_mean(losses) if mean else losses
    return spread(pd.concat([losses, of(method="untrained")], axis=1))


def which_loss(studies: Mapping[str, str], cost: str) -> str:
    """Each loss less the contrastive one, and the seconds of a training.

    Args:
        studies: by title of a column.
        cost: the study whose trainings are timed.
    """
    tuned = {title: by_split(study, "recall_at_1")["tuned"] for title, study in studies.items()}
    columns = {
        title: published(study, "over_contrastive")
        if (PUBLISHED / study / "tables" / "over_contrastive.csv").exists()
        else over(tuned[title], "contrastive")
        for title, study in studies.items()
    }
    means = sum(scores.mean() for scores in tuned.values()).to_frame().T
    return table(columns | {"seconds per training": seconds(cost)}, ranked(means.dropna(axis=1)))


def seconds(study: str) -> Column:
    """The median time of a loss's trainings, with what ran beside them."""
    timings = pd.read_csv(PUBLISHED / study / "timings.csv").query("stage == 'train'")
    scores = read_scores(PUBLISHED / study / "scores.parquet")
    method = timings["run"].map(scores.groupby("run")["method"].first())
    return numbers(
        timings["seconds"].groupby(method).median().drop("untrained", errors="ignore"),
        0,
        lower=None,
    )


def between_machines() -> Column:
    """The largest difference between two trainings of one seed, on either CPU."""
    first, second = map(last_epoch, ("omniglot", "omniglot_intel_xeon"))
    return numbers((first - second).abs().max(), lower=None)


def _source(words: str) -> str:
    """A source of variance without its number of levels."""
    return re.sub(r" \(\d+\)", "", words)
