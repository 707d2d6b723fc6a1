"""Small documents for tests of the audit's rules."""

import pandas as pd
from dmlbench.plan.catalogs.read import checked
from dmlbench.statistics.audit.check import AGREES
from dmlbench.statistics.audit.document import Document, Metadata
from dmlbench.statistics.printed import decimals

CELL = {
    "study": "made_up",
    "table": "01",
    "panel": "",
    "dataset": "birds",
    "network": "resnet50",
    "embedding_dim": "64",
    "method": "margin",
    "variant": "",
    "split": "test",
    "metric": "recall_at_1",
    "value": "50.00",
    "std": "",
    "note": "",
}

SEARCH = ["table", "method", "hyperparameter", "range", "step", "optimal_value"]


def document(*cells: dict, searches=(), **metadata) -> Document:
    """A document of cells that differ from `CELL` in what is given."""
    frame = pd.DataFrame([CELL | cell for cell in cells])
    frame["number"] = frame["value"].astype(float)
    frame["decimals"] = [decimals(value) for value in frame["value"]]
    frame["k"] = frame["metric"].str.extract(r"^recall_at_(\d+)$", expand=False).astype(float)
    return Document(
        study="made_up",
        cells=frame,
        metadata=checked(metadata, Metadata, where="made up"),
        searches=pd.DataFrame(searches, columns=SEARCH),
    )


def row(values: dict[str, str], **cell) -> list[dict]:
    return [cell | {"metric": metric, "value": value} for metric, value in values.items()]


def findings(rule, given: Document) -> list:
    return [check for check in rule.check(given) if check.kind != AGREES]


def series(*values: str) -> list[dict]:
    names = ("recall_at_1", "recall_at_2", "recall_at_4", "recall_at_8")
    return row(dict(zip(names, values, strict=True)))
