"""Long tables of scores as tests write them."""

import pandas as pd
from dmlbench.statistics.aggregation import SCHEMA

COMMON = {
    "dataset": "glyphs",
    "network": "convnet",
    "embedding_dim": 64,
    "recipe": "short",
    "split": "half",
    "fold": "",
    "role": "test",
    "selection": "last_epoch",
    "metric": "recall_at_1",
}


def long_table(values: dict[tuple[str, str], list[float]], **changes) -> pd.DataFrame:
    """(method, variant) -> the scores of seeds 0, 1, ..., as a long table."""
    rows = [
        {"method": method, "variant": variant, "seed": seed, "value": value, "run": "r"}
        for (method, variant), scores in values.items()
        for seed, value in enumerate(scores)
    ]
    return pd.DataFrame([row | COMMON | changes for row in rows], columns=SCHEMA.names)


def above(reference: str, *others: str) -> dict[str, str]:
    """Each of the others is compared with the reference."""
    return dict.fromkeys(others, reference)


PROFS = above("", "profs", "profs_hncm", "hncm")


def rows_of(frame: pd.DataFrame) -> dict:
    return {(row.method, row.variant): row for row in frame.itertuples()}
