"""Write the tables and the picture of docs/claims.md, and the README's findings: `make claims`."""

import sys
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parent
HOME = DOCS.parent
sys.path[:0] = [str(DOCS), str(HOME / "workflow" / "scripts")]

import pandas as pd  # noqa: E402 (the library is on the path only now)
from claims_picture import picture  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.claims import FILE, StandIn, read_claims  # noqa: E402
from dmlbench.presentation import style  # noqa: E402
from dmlbench.statistics.aggregation import no_scores, read_scores  # noqa: E402
from dmlbench.statistics.claims import PRINTED, evaluated  # noqa: E402
from dmlbench.statistics.claims.summary import (  # noqa: E402
    counts,
    in_rows,
    markdown,
    table_of_counts,
)
from dmlbench.statistics.claims.verdicts import VERDICTS  # noqa: E402

FINDINGS = {
    "psomas2020": ["best_three_losses"],
    "can2019": ["profs_improves_on_average"],
    "karaman2021": ["proposed_without_miner", "as_good_as_with_miner"],
    "roth2020": ["decay_predicts_recall", "regularization_raises_recall_on_average"],
    "musgrave2020": ["most_losses_are_alike", "marginal_over_contrastive"],
}
"""The claims that the README shows: what each paper is known for."""

DATA = ("birds", "cars", "photographs", "handwriting")
"""What the names of stand-ins begin with; one column of the README each."""

PICTURE = DOCS / "claims.svg"
REFERENCE, PUBLISHED = HOME / "config" / "reference", HOME / "results" / "published"


def judged() -> dict[str, pd.DataFrame]:
    """The verdicts of all documents, in alphabetical order."""
    files = sorted(REFERENCE.glob(f"*/{FILE}"))
    return {file.parent.name: verdicts(file.parent) for file in files}


def texts(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Page -> the text between its markers."""
    return {"README.md": findings(found), "docs/claims.md": tables(found)}


def tables(found: Mapping[str, pd.DataFrame]) -> str:
    """The claims of all documents, and how many have which verdict."""
    lines = table_of_counts(list(found.values()))
    for study in found:
        lines += ["", f"## {study}", "", *_stand_ins(study), "", *markdown(found[study])]
    return "\n".join(lines)


def findings(found: Mapping[str, pd.DataFrame]) -> str:
    """The claims that the README shows, and how many of all have which verdict in print."""
    columns = ["claim", "printed numbers", *DATA]
    lines = [f"| {' | '.join(columns)} |", "|:--" * len(columns) + "|"]
    for study, ids in FINDINGS.items():
        for row in in_rows(found[study][found[study]["claim"].isin(ids)]):
            others = [_of_data(row["elsewhere"], data) for data in DATA]
            cells = [f"{row['says']} ({study})", _bold(row["printed"]), *others]
            lines.append(f"| {' | '.join(cells)} |")
    of = [counts(each, PRINTED) for each in found.values()]
    total = sum(sum(each.values()) for each in of)
    told = [(sum(each[verdict] for each in of), verdict) for verdict in VERDICTS]
    shown = ", ".join(f"{count} {verdict}" for count, verdict in told if count)
    return "\n".join([*lines, "", f"All {total} claims, by the printed numbers: {shown}."])


def _of_data(elsewhere: list[str], data: str) -> str:
    """The verdicts on one kind of data, of several trainings of it each with its name."""
    own = [each.partition(": ") for each in elsewhere if each.startswith(data)]
    names = [name.removeprefix(data).removeprefix(", ") for name, _, _ in own]
    shown = [_bold(told) for _, _, told in own]
    told = [f"{name}: {each}" if name else each for name, each in zip(names, shown, strict=True)]
    return "<br>".join(told) or "not run"


def _bold(told: str) -> str:
    verdict, opening, numbers = told.partition(" (")
    return f"**{verdict}**{opening}{numbers}"


def verdicts(folder: Path) -> pd.DataFrame:
    """The verdicts on a document by its printed numbers and by the published results."""
    scores = {each.study: read_scores(_scores(each)) for each in _published(folder.name)}
    return evaluated(folder, no_scores(), scores)


def _published(study: str) -> list[StandIn]:
    """The stand-ins that have run."""
    return [each for each in read_claims(REFERENCE / study).stand_ins if _scores(each).exists()]


def _scores(stand_in: StandIn) -> Path:
    return PUBLISHED / stand_in.study / "scores.parquet"


def _stand_ins(study: str) -> list[str]:
    return [
        f"- *{each.name}*: [results/published/{each.study}](../results/published/{each.study}); "
        f"{each.differs}"
        for each in _published(study)
    ]


if __name__ == "__main__":
    found = judged()
    for page, text in texts(found).items():
        write_marked(HOME / page, "from_claims", text)
    style.save(picture(list(found.values())), svg=PICTURE)
