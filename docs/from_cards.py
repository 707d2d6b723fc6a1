"""Write the tables of docs/results.md that published scores give: `make cards`.

A table is between comments that name its study. Its cells are means of test images in the last
epoch.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "workflow" / "scripts")]

import pandas as pd  # noqa: E402 (the library is on the path only now)
from card_tables import (  # noqa: E402
    MEAN,
    UNTRAINED,
    Column,
    differences,
    numbers,
    over,
    published,
    ranked,
    spread,
    table,
)
from dmlbench.marked_text import write_marked  # noqa: E402
from published_scores import (  # noqa: E402
    by_seed,
    by_split,
    every_metric,
    last_epoch,
    mean_ranks,
    repeated,
)

PAGE = DOCS / "results.md"
HALF = "official halves"
FIVE = "five splits"
METRICS = {"recall_at_1": "R@1", "map_at_r": "MAP@R"}
FOUR = ["contrastive", "triplet", "margin", "multi_similarity"]
MINED = ("without_miner,tuned_without", "with_miner,tuned_with")


def tournament(study: str, metric: str = "recall_at_1", trained: bool = False) -> str:
    """Losses on the official halves and on five splits; trained networks next to frozen heads."""
    tuned, frozen = by_split(study, metric)["tuned"], study.removesuffix("_trained")
    others, of_others = by_split(frozen, metric)[""], repeated(frozen, metric)[""]
    of_seeds = pd.concat([repeated(study, metric)["tuned"], of_others], axis=1)
    columns = {
        HALF: spread(of_seeds.loc["half"]),
        FIVE: numbers(pd.concat([tuned.mean(), others.mean()])),
        "less Contrastive": over(tuned, "contrastive")
        if trained
        else published(study, "over_contrastive", panel=METRICS[metric]),
    }
    if trained:
        heads = by_split(frozen, metric)["tuned"].loc[tuned.index, tuned.columns]
        columns["less its frozen head"] = differences(tuned, heads, None)
    columns["mean rank"] = numbers(mean_ranks(tuned), 1, lower=True)
    return table(columns, [*ranked(tuned), *(UNTRAINED if not trained else ["raw_features"])])


def halves(study: str) -> str:
    """Losses over halves and their swaps."""
    columns = {}
    for metric, title in METRICS.items():
        scores = by_split(study, metric)
        columns[title] = numbers(pd.concat([scores["tuned"].mean(), scores[""].mean()]))
        columns[f"{title} less Contrastive"] = published(study, "over_contrastive", panel=title)
    tuned = by_split(study, "recall_at_1")["tuned"]
    columns["mean rank"] = numbers(mean_ranks(tuned), 1, lower=True)
    return table(columns, [*ranked(tuned), *UNTRAINED])


def spectral_decay(study: str) -> str:
    """Losses on the official halves and on five splits, with the decay of their embeddings."""
    tuned = by_split(study, "recall_at_1")["tuned"]
    columns = {
        HALF: spread(repeated(study, "recall_at_1")["tuned"].loc["half"]),
        FIVE: numbers(tuned.mean()),
        "mean rank": numbers(mean_ranks(tuned), 1, lower=True),
        "rho": numbers(every_metric("split", study)["rho", "tuned"].mean(), lower=None),
    }
    return table(columns, ranked(tuned))


def regularization(study: str) -> str:
    """What rho-regularization and other batches change."""
    alone = by_split(study, "recall_at_1")["tuned"]
    return table({"tuned": _four(alone)} | _changes([study]), [*FOUR, MEAN])


def _changes(studies: Sequence[str], of: Sequence[str] = ("",)) -> dict[str, Column]:
    """What changes roth2020's losses in some studies, and what is added to a column's title."""
    changes = {
        "rho-regularized less tuned": ("regularization", "regularizer = rho, tuned"),
        "SPC-2 less SPC-4": ("batches", "tuned, batch sampler = SPC-2"),
        "SPC-8 less SPC-4": ("batches", "tuned, batch sampler = SPC-8"),
    }
    return {
        f"{title}{added}": published(study, *change)
        for title, change in changes.items()
        for study, added in zip(studies, of, strict=True)
    }


def projections(study: str) -> str:
    """What alternating projections change, compared with as few anchors and with the loss alone."""
    scores = by_split(study, "recall_at_1")
    (alone,) = (name for name in scores.columns.levels[0] if name.startswith("pairs"))
    columns = {
        "alone": _four(scores[alone]),
        "control less alone": published(study, "differences", "M = 1, tuned"),
        "PROFS less control": published(study, "projections", "PROFS, tuned"),
        "PROFS with HNCM less control": published(study, "projections", "PROFS-HNCM, tuned"),
        "PROFS less alone": published(study, "differences", "PROFS, tuned"),
    }
    return table(columns, [*FOUR, MEAN])


def _four(scores: pd.DataFrame) -> Column:
    """Means of four losses, and the mean of these."""
    means = scores[FOUR].mean()
    return numbers(pd.concat([means, pd.Series({MEAN: means.mean()})]), lower=None)


def triplet_losses(data: str) -> str:
    """Triplet losses without and with the miner, on five splits."""
    study = f"karaman2021_{data}"
    scores, others = (by_split(each, "recall_at_1") for each in (study, f"psomas2020_{data}"))
    without, mined = (scores[variant] for variant in MINED)
    of_seeds = [
        repeated(study, "recall_at_1")[MINED[0]],
        repeated(f"psomas2020_{data}", "recall_at_1")[""],
    ]
    columns = {
        f"{HALF}, no miner": spread(pd.concat(of_seeds, axis=1).loc["half"]),
        "no miner": numbers(pd.concat([without.mean(), others[""].mean()])),
        "less DistanceSensitive": over(without, "distance_sensitive"),
        "miner": numbers(mined.mean()),
        "gain from the miner": published(study, "gain", "with the miner, tuned"),
    }
    return table(columns, [*ranked(without), *UNTRAINED], years=False)


def sizes(study: str) -> str:
    """Losses at four embedding sizes, on the official halves."""
    scores = repeated(study, "recall_at_1", columns=["embedding_dim", "method"])
    of_sizes = {f"{size:,}": scores[size] for size in (64, 128, 512, 1024)}
    means = sum(of_size.mean() for of_size in of_sizes.values())
    order = means.drop("untrained").sort_values(ascending=False).index
    # The random projection is no loss, so no best one.
    columns = {size: spread(of_size) for size, of_size in of_sizes.items()}
    return table(columns, [*order, "untrained"], names={"untrained": "a random projection"})


def five_seeds() -> str:
    """Losses on the official halves of birds and of cars over five seeds, with their decay."""
    columns, means = {}, []
    for data in ("birds", "cars"):
        scores = every_metric("seed", f"roth2020_{data}_seeds")
        recall, rho = 100 * scores["recall_at_1", "tuned"], scores["rho", "tuned"]
        columns |= {data: spread(recall), f"rho, {data}": numbers(rho.mean(), lower=None)}
        means.append(recall.mean())
    return table(columns, sum(means).sort_values(ascending=False).index)


def changes_of_five_seeds() -> str:
    """What rho-regularization and other batches change, over five seeds."""
    studies = ["roth2020_birds_seeds", "roth2020_cars_seeds"]
    return table(_changes(studies, [", birds", ", cars"]), [*FOUR, MEAN])


def ten_seeds() -> str:
    """Triplet losses on the official halves over ten seeds, without and with the miner."""
    columns, means = {}, []
    for data in ("birds", "cars"):
        scores = by_seed(f"karaman2021_{data}_seeds", "recall_at_1")
        without, mined = (scores[variant] for variant in MINED)
        columns[f"{data}, no miner"] = spread(pd.concat([without, scores[""]], axis=1))
        columns[f"{data}, miner"] = spread(mined)
        means.append(without.mean())
    order = sum(means).sort_values(ascending=False).index
    return table(columns, [*order, "untrained"], years=False)


def four_folds(study: str = "musgrave2020_birds_folds") -> str:
    """The paper's protocol: four folds whose embeddings are concatenated, or scored separately."""

    def of(metric: str, form: str) -> pd.DataFrame:
        return last_epoch(study, metric, fold=form)

    mean_precision, recall = of("map_at_r", "concatenated"), of("recall_at_1", "concatenated")
    columns = {
        "MAP@R, concatenated": spread(mean_precision),
        "less Contrastive": published(study, "over_contrastive", panel="MAP@R"),
        "MAP@R, separated": spread(of("map_at_r", "separated")),
        "R@1, concatenated": spread(recall),
        "R@1 less Contrastive": published(study, "over_contrastive"),
    }
    return table(columns, ranked(mean_precision))


CARDS: dict[str, Callable[[], str]] = {
    "psomas2020_drawings": partial(halves, "psomas2020_drawings"),
    "psomas2020_birds_extended": partial(halves, "psomas2020_birds_extended"),
    "psomas2020_birds": partial(tournament, "psomas2020_birds"),
    "psomas2020_birds_sizes": partial(sizes, "psomas2020_birds_sizes"),
    "psomas2020_cars": partial(tournament, "psomas2020_cars"),
    "psomas2020_cars_sizes": partial(sizes, "psomas2020_cars_sizes"),
    "psomas2020_birds_trained": partial(tournament, "psomas2020_birds_trained", trained=True),
    "psomas2020_cars_trained": partial(tournament, "psomas2020_cars_trained", trained=True),
    "musgrave2020_birds": partial(tournament, "musgrave2020_birds", "map_at_r"),
    "musgrave2020_birds_folds": four_folds,
    "musgrave2020_cars": partial(tournament, "musgrave2020_cars", "map_at_r"),
    "can2019_birds": partial(projections, "can2019_birds"),
    "can2019_cars": partial(projections, "can2019_cars"),
    "roth2020_birds": partial(spectral_decay, "roth2020_birds"),
    "roth2020_birds_changes": partial(regularization, "roth2020_birds"),
    "roth2020_cars": partial(spectral_decay, "roth2020_cars"),
    "roth2020_cars_changes": partial(regularization, "roth2020_cars"),
    "karaman2021_birds": partial(triplet_losses, "birds"),
    "karaman2021_cars": partial(triplet_losses, "cars"),
    "karaman2021_seeds": ten_seeds,
    "roth2020_seeds": five_seeds,
    "roth2020_seeds_changes": changes_of_five_seeds,
}
"""Name between the comments -> its table."""

if __name__ == "__main__":
    for name, made in CARDS.items():
        write_marked(PAGE, f"from_cards {name}", made())
