"""Write the tables of docs/claims.md, from printed and published numbers: `make claims`."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
HOME = DOCS.parent
sys.path.insert(0, str(HOME / "workflow" / "scripts"))

import pandas as pd  # noqa: E402 (the library is on the path only now)
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.claims import FILE, StandIn, read_claims  # noqa: E402
from dmlbench.statistics.aggregation import no_scores, read_scores  # noqa: E402
from dmlbench.statistics.claims import evaluated  # noqa: E402
from dmlbench.statistics.claims.summary import markdown, table_of_counts  # noqa: E402

PAGE = DOCS / "claims.md"
REFERENCE, PUBLISHED = HOME / "config" / "reference", HOME / "results" / "published"


def tables() -> str:
    """The text between the markers of the page."""
    found = {file.parent.name: verdicts(file.parent) for file in REFERENCE.glob(f"*/{FILE}")}
    lines = table_of_counts([found[study] for study in sorted(found)])
    for study in sorted(found):
        lines += ["", f"## {study}", "", *_stand_ins(study), "", *markdown(found[study])]
    return "\n".join(lines)


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
    write_marked(PAGE, "from_claims", tables())
