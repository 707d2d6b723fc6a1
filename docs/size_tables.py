"""Tables of losses at four embedding sizes, on the official halves of birds and cars."""

from itertools import combinations, pairwise

import pandas as pd
from orders import rank_correlation
from published_scores import by_size, of_pairs, printed_sizes, repeated
from score_tables import markdown, ranked, signed, spread, table

DATA = ("birds", "cars")
LAST = ["n_pair", "lifted_structure"]
"""The losses of psomas2020 that are last in each of its tournaments here."""

NETWORKS = {"resnet50": "ResNet-50", "bninception": "BNInception", "googlenet": "GoogLeNet"}


def sizes(data: str) -> str:
    """Losses at four embedding sizes, on the official halves."""
    study = f"psomas2020_{data}_sizes"
    scores = repeated(study, "recall_at_1", columns=["embedding_dim", "method"])
    of_sizes = {f"{size:,}": scores[size] for size in (64, 128, 512, 1024)}
    return table(
        {size: spread(of_size) for size, of_size in of_sizes.items()},
        ranked(sum(of_size.mean() for of_size in of_sizes.values()).to_frame().T),
    )


def size_gains() -> str:
    """What a larger size gains the ten losses, and a random projection."""
    rows: dict[str, dict[str, str]] = {}
    for data in DATA:
        for title, metric in (("R@1", "recall_at_1"), ("MAP@R", "map_at_r")):
            scores = by_size(f"psomas2020_{data}_sizes", metric)
            losses, random = scores.drop(index="untrained"), scores.loc["untrained"]
            for fewer, more in pairwise(scores):
                cells = rows.setdefault(f"{fewer:,} to {more:,}", {})
                cells[f"{data}, {title}"] = signed(*of_pairs(losses[more] - losses[fewer]))
                if metric == "recall_at_1":
                    cells[f"{data}, random"] = f"{random[more] - random[fewer]:+.2f}"
    return markdown(rows, "dimensions")


def size_orders() -> str:
    """How well orders of losses agree: between sizes, between birds and cars, and in print."""
    all_ten = {data: by_size(f"psomas2020_{data}_sizes", "recall_at_1") for data in DATA}
    all_ten = {data: scores.drop(index="untrained") for data, scores in all_ten.items()}
    eight = {f"{data}, eight": scores.drop(index=LAST) for data, scores in all_ten.items()}
    between = {
        f"{one:,} and {other:,}": {
            title: _agreement(scores[one], scores[other])
            for title, scores in (all_ten | eight).items()
        }
        for one, other in combinations(all_ten["birds"], 2)
    }
    across = {
        f"{size:,}": {
            "all ten": _agreement(all_ten["birds"][size], all_ten["cars"][size]),
            "eight": _agreement(eight["birds, eight"][size], eight["cars, eight"][size]),
        }
        for size in all_ten["birds"]
    }
    of_networks = {data: printed_sizes(data) for data in DATA}
    printed = {
        title: {
            data: _agreement(found[n][128], found[n][512]) for data, found in of_networks.items()
        }
        for n, title in NETWORKS.items()
    }
    tables = {"sizes": between, "birds and cars at": across, "print, 128 and 512": printed}
    return "\n\n".join(markdown(rows, first) for first, rows in tables.items())


def _agreement(one: pd.Series, other: pd.Series) -> str:
    found = rank_correlation(one, other[one.index])
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
