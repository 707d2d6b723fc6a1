"""Claims of documents, evaluated by one rule on printed numbers and on our scores."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from dmlbench.files import write_csv
from dmlbench.plan.studies.claims import METHODS, TABLE, Claim, Claims, StandIn, read_claims
from dmlbench.plan.studies.mapping import read_mapping
from dmlbench.statistics import classes
from dmlbench.statistics.aggregation import collect, read_scores
from dmlbench.statistics.agreement import selected
from dmlbench.statistics.claims.contrasts import comparisons
from dmlbench.statistics.claims.evidence import Elsewhere, Evidence, Ours, Printed
from dmlbench.statistics.claims.judging import judge, one_by_one, scale
from dmlbench.statistics.claims.verdicts import NOT_PRINTED, NOT_RUN, OUT_OF_SCOPE, Verdict
from dmlbench.statistics.placement import find, read_placed

_UNTRAINED = "untrained"

PRINTED, OURS = "printed", "ours"
"""Evidence: the printed numbers, and our scores at their places; others are stand-ins."""

COLUMNS = ["study", "claim", "says", "place", "line", "evidence", "data", "differs"]
COLUMNS += [*Verdict._fields, "because", "note"]
TEXTS = ["study", "claim", "says", "place", "evidence", "data", "differs", "verdict", "because"]
TEXTS += ["unit", "one_by_one", "decides", "note"]
"""The columns that are text; empty where there is nothing to say."""


class Published(NamedTuple):
    """The scores of a stand-in.

    Attributes:
        scores: its long table.
        classes: the scores of each class, None if they are not there.
    """

    scores: pd.DataFrame
    classes: pd.DataFrame | None = None


def read_published(path: str | os.PathLike) -> Published:
    """Read a study's long table, and the scores of each class next to it."""
    file = Path(path).with_name(classes.FILE)
    own = classes.read_classes(file) if file.exists() else None
    # Studies of one split have none.
    return Published(read_scores(path), None if own is None or own.empty else own)


class Judged(NamedTuple):
    """Evidence, and what is said of it.

    Attributes:
        name: `PRINTED`, `OURS`, or what a stand-in is called.
        data: the data set that verdicts rest on.
        differs: what is not as in the document.
        evidence: for claims about methods, and about tables.
        absent: the verdict on a claim of which it has nothing.
        note: a remark on its numbers, such as that they are rehearsed.
    """

    name: str
    data: str
    differs: str
    evidence: Mapping[str, Evidence]
    absent: str
    note: str = ""


def claims(
    folder: str | os.PathLike,
    rows: Sequence[Mapping[str, Any]],
    score_files: Sequence[str | os.PathLike],
    *,
    tables: Sequence[str | os.PathLike],
    stand_ins: Mapping[str, str | os.PathLike],
    output: str | os.PathLike,
    note: str = "",
) -> None:
    """Write the verdicts on the claims of one document as CSV, with `COLUMNS`.

    Args:
        folder: the document's printed numbers, with claims.yaml, mapping.yaml and margins.csv.
        rows, score_files, tables: as `aggregation.collect` takes them, empty if nothing ran.
        stand_ins: study -> its long table of scores; those of claims.yaml that are there.
        output: the file to write.
        note: a remark on our numbers, such as that they are rehearsed.

    Raises:
        UserError: as `plan.studies.claims.read_claims`, `aggregation.collect` and `read_scores`.
    """
    folder = Path(folder)
    scores = collect(rows, score_files, tables=tables)
    verdicts = evaluated(
        folder,
        selected(scores, rows),
        {study: read_published(path) for study, path in stand_ins.items()},
        note=note,
    )
    write_csv(output, verdicts, float_format="%.6g")


def evaluated(
    folder: Path,
    scores: pd.DataFrame,
    stand_ins: Mapping[str, Published],
    *,
    note: str = "",
) -> pd.DataFrame:
    """The verdicts on the claims of one document.

    Args:
        folder: as `claims` takes it.
        scores: our long table for the document's study, of one selection rule.
        stand_ins: study -> its scores.
        note: a remark on `scores`.

    Returns:
        `COLUMNS`, one row per claim and evidence, in the order of the file: printed, ours, and each
        stand-in that has the claim's arm and control.
    """
    document = read_claims(folder)
    judged = list(evidence_of(folder, document.stand_ins, scores, stand_ins, note))
    printed = judged[0].evidence[METHODS]
    cells = printed.cells
    rows = []
    for claim in document.claims:
        told = {"study": folder.name, "claim": claim.id, "says": claim.says}
        told |= {"place": claim.place, "line": claim.line}
        if claim.out_of_scope:
            rows.append(told | {"verdict": OUT_OF_SCOPE, "because": claim.out_of_scope})
            continue
        built = comparisons(claim, cells)
        for each in judged:
            if each.name not in (PRINTED, OURS) and not claim.transfers:
                continue
            evidence = each.evidence[claim.about]
            exact = each.name == PRINTED and claim.about == TABLE
            smallest, because = _smallest(claim, document, exact)
            note = each.note
            if claim.scaled and each.name != PRINTED:
                share = scale(document.gain, claim, cells, printed, evidence)
                smallest *= share or 1.0
                note = "; ".join(filter(None, [note, _scaled(share, smallest)]))
            verdict = judge(claim, cells, built, evidence, smallest, absent=each.absent)
            if not verdict.comparisons and each.name not in (PRINTED, OURS):
                continue
            if each.name == PRINTED and claim.over:
                alone = one_by_one(claim, cells, built, evidence, smallest)
                verdict = verdict._replace(one_by_one=alone)
            about = {"evidence": each.name, "data": each.data, "differs": each.differs}
            rows.append(told | about | verdict._asdict() | {"because": because, "note": note})
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.fillna(dict.fromkeys(TEXTS, ""))


def evidence_of(
    folder: Path,
    called: Sequence[StandIn],
    scores: pd.DataFrame,
    stand_ins: Mapping[str, Published],
    note: str = "",
) -> Iterator[Judged]:
    """What is printed in a document, and what is known of the same cells.

    Args:
        folder, scores, stand_ins, note: as `evaluated` takes them.
        called: the stand-ins of the document; those without scores are left out.
    """
    mapping = read_mapping(folder)
    printed = Printed(folder)
    both = {METHODS: printed, TABLE: printed.exact()}
    yield Judged(PRINTED, "", "", both, NOT_PRINTED)
    if mapping.recipe:
        scores = scores[scores["recipe"].isin([mapping.recipe, ""])]
    ours = Ours(find(scores, read_placed(sorted(folder.glob("table_*.csv")))), mapping)
    data = ", ".join(ours.data)
    yield Judged(OURS, data, "", dict.fromkeys((METHODS, TABLE), ours), NOT_RUN, note)
    for each in called:
        if each.study in stand_ins:
            scores, of_classes = stand_ins[each.study]
            if each.untrained_of in stand_ins:
                scores = _with_untrained(scores, stand_ins[each.untrained_of].scores, each)
            other = Elsewhere(scores, mapping, each, of_classes)
            evidence = dict.fromkeys((METHODS, TABLE), other)
            yield Judged(each.name, ", ".join(other.data), each.differs, evidence, NOT_RUN)


def _with_untrained(scores: pd.DataFrame, others: pd.DataFrame, stand_in: StandIn) -> pd.DataFrame:
    """The scores with the rows without training of another study of the same data."""
    same = (others["method"] == _UNTRAINED) & others["split"].isin(scores["split"].unique())
    rows = others[same].assign(network=scores["network"].iloc[0])
    rows = rows.assign(**{column: min(values) for column, values in stand_in.where.wanted})
    return pd.concat([scores, rows], ignore_index=True)


def _scaled(share: float | None, smallest: float) -> str:
    if share is None:
        return "margin as in print: what training adds is unknown here"
    return f"margin {smallest:.2f}: training adds {100 * share:.0f} % of what it adds in print"


def _smallest(claim: Claim, document: Claims, exact: bool) -> tuple[float, str]:
    """The smallest effect of interest of a claim, and why; of exact numbers each one matters."""
    if claim.smallest is not None:
        return claim.smallest, claim.because
    if exact or claim.kind == "place":
        return 0.0, ""
    metrics = claim.arm.get("metric", list(document.smallest))
    known = [document.smallest[metric] for metric in metrics if metric in document.smallest]
    return (max(known), document.because) if known else (0.0, "")
