"""Write the claims' tables and picture, and what results.md shows of them: `make claims`."""

import sys
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parent
HOME = DOCS.parent
sys.path[:0] = [str(DOCS), str(HOME / "workflow" / "scripts")]

import pandas as pd  # noqa: E402 (the library is on the path only now)
from claims_picture import SIGNS, picture  # noqa: E402
from dmlbench.errors import UserError  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.studies.claims import FILE, StandIn, read_claims  # noqa: E402
from dmlbench.presentation import style  # noqa: E402
from dmlbench.statistics.aggregation import no_scores  # noqa: E402
from dmlbench.statistics.claims import PRINTED, evaluated, read_published  # noqa: E402
from dmlbench.statistics.claims.summary import (  # noqa: E402
    briefly,
    counts,
    markdown,
    table_of_counts,
)
from dmlbench.statistics.claims.verdicts import VERDICTS  # noqa: E402

FINDINGS = {
    "psomas2020": {
        "best_three_losses": "MultiSimilarity, SoftTriple and ProxyAnchor beat the other losses",
    },
    "can2019": {
        "profs_improves_on_average": "Alternating projections (PROFS) raise R@1 on average",
    },
    "karaman2021": {
        "proposed_without_miner": "Without a miner the distance-sensitive loss beats all others",
        "miner_is_effective_on_average": "The miner in a loss raises R@1 on average",
    },
    "roth2020": {
        "decay_predicts_recall": "R@1 falls as the spectral decay of embeddings rises",
        "regularization_raises_recall_on_average": "Rho-regularization raises R@1 on average",
    },
    "musgrave2020": {
        "most_losses_are_alike": "Most pairs of an early and a later loss differ by little (MAP@R)",
        "marginal_at_best": "No later loss beats Contrastive by much (MAP@R)",
    },
}
"""The claims that each paper is known for, in a few words."""

ARMS = ("arms that can learn", "trained")
"""What else was run on some data, in the order in which it is shown."""

DATA = ("drawings", "birds", "cars", "photographs", "handwriting")
"""The stand-ins that pages show, one column each, with `ARMS` below."""

PICTURE = DOCS / "claims.svg"
REFERENCE, PUBLISHED = HOME / "config" / "reference", HOME / "results" / "published"


def judged() -> dict[str, pd.DataFrame]:
    """The verdicts of all documents, in alphabetical order."""
    files = sorted(REFERENCE.glob(f"*/{FILE}"))
    return {file.parent.name: verdicts(file.parent) for file in files}


def texts(found: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], str]:
    """Page of docs/ and name of its markers -> the text between them."""
    return {
        ("results.md", "signs"): grid(found),
        ("results.md", "from_claims"): findings(found),
        ("claims.md", "from_claims"): tables(found),
        ("claims.md", "from_review"): review(),
    }


def tables(found: Mapping[str, pd.DataFrame]) -> str:
    """The claims of all documents, and how many have which verdict."""
    lines = table_of_counts(list(found.values()))
    for study in found:
        lines += ["", f"## {study}", "", *_stand_ins(study), "", *markdown(found[study])]
    return "\n".join(lines)


def review() -> str:
    """What became of the claims when they were read against the texts again."""
    columns = ["study", "before", "faithful", "changed", "removed", "added", "now"]
    lines = [f"| {' | '.join(columns)} |", "|:--" + "|--:" * (len(columns) - 1) + "|"]
    counted = []
    for file in sorted(REFERENCE.glob("*/claims_review.csv")):
        read = pd.read_csv(file, dtype=str, keep_default_na=False)
        was, is_now = read["before_id"] != "", read["id"] != ""
        faithful = int((read["reading"] == "faithful").sum())
        counted.append((was.sum(), faithful, (was & is_now).sum() - faithful))
        counted[-1] += ((was & ~is_now).sum(), (~was & is_now).sum(), is_now.sum())
        lines.append(f"| {file.parent.name} | {' | '.join(map(str, counted[-1]))} |")
    totals = [sum(column) for column in zip(*counted, strict=True)]
    lines.append(f"| all | {' | '.join(map(str, totals))} |")
    return "\n".join(lines)


def findings(found: Mapping[str, pd.DataFrame]) -> str:
    """What each paper is known for, and how many of all claims have which verdict in print."""
    columns = ["claim", "print", *DATA]
    lines = [f"| {' | '.join(columns)} |", "|:--" * len(columns) + "|"]
    for study, claims in FINDINGS.items():
        for each in claims:
            own = _claim(found, study, each)
            printed = own.loc[PRINTED]
            cells = [f"{printed.says} ({study}; {_smallest(own)})", briefly(printed)]
            cells += [_on(own, data) for data in DATA]
            lines.append(f"| {' | '.join(cells)} |")
    of = [counts(each, PRINTED) for each in found.values()]
    total = sum(sum(each.values()) for each in of)
    told = [(sum(each[verdict] for each in of), verdict) for verdict in VERDICTS]
    shown = ", ".join(f"{count} {verdict}" for count, verdict in told if count)
    return "\n".join([*lines, "", f"All {total} claims, by the printed numbers: {shown}."])


def grid(found: Mapping[str, pd.DataFrame]) -> str:
    """A sign for each of these verdicts; each claim links to its paper's."""
    columns = ["claim", "in print", *DATA]
    lines = [f"| {' | '.join(columns)} |", "|:--" + "|:-:" * (len(columns) - 1) + "|"]
    for study, claims in FINDINGS.items():
        for each, words in claims.items():
            own = _claim(found, study, each)
            cells = [f"{words} ([{study}](claims.md#{study}))"]
            cells.append(SIGNS[own.loc[PRINTED].verdict])
            cells += [
                " ".join(
                    f"{SIGNS[own.loc[name].verdict]}{f'<sup>{arm[0]}</sup>' if arm else ''}"
                    for arm, name in _shown(own, data).items()
                )
                for data in DATA
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _claim(found: Mapping[str, pd.DataFrame], study: str, claim: str) -> pd.DataFrame:
    """The verdicts on a claim by their evidence."""
    own = found[study][found[study]["claim"] == claim].set_index("evidence")
    if own.empty:
        raise UserError(f"findings: {study} has no claim {claim}; allowed: those of claims.yaml")
    return own


def _shown(own: pd.DataFrame, data: str) -> dict[str, str]:
    """Arm -> evidence on one kind of data: where losses are tuned, if anywhere; then `ARMS`."""
    first = [f"{data}, own rates", f"{data}, tuned", data]
    shown = [("", name) for name in first if name in own.index][:1]
    others = [(arm, f"{data}, {arm}") for arm in ARMS]
    return dict([*shown, *((arm, name) for arm, name in others if name in own.index)])


def _on(own: pd.DataFrame, data: str) -> str:
    """The verdicts on one kind of data, with their numbers."""
    told = [
        f"{arm}: {briefly(own.loc[name])}" if arm else briefly(own.loc[name])
        for arm, name in _shown(own, data).items()
    ]
    return "<br>".join(told) or "not run"


def _smallest(own: pd.DataFrame) -> str:
    """The smallest effect of interest, in points or of a coefficient, on each kind of data."""
    known = own["smallest"].dropna().round(2)
    ends = dict.fromkeys([known.max(), known.min()])
    return f"smallest effect {' to '.join(f'{each:g}' for each in ends)}"


def verdicts(folder: Path) -> pd.DataFrame:
    """The verdicts on a document by its printed numbers and by the published results."""
    studies = {study for each in _published(folder.name) for study in each.studies}
    scores = {study: read_published(_scores(study)) for study in sorted(studies)}
    return evaluated(folder, no_scores(), scores)


def _published(study: str) -> list[StandIn]:
    """The stand-ins that have run."""
    return [
        each for each in read_claims(REFERENCE / study).stand_ins if _scores(each.study).exists()
    ]


def _scores(study: str) -> Path:
    return PUBLISHED / study / "scores.parquet"


def _stand_ins(study: str) -> list[str]:
    return [
        f"- *{each.name}*: [results/published/{each.study}](../results/published/{each.study}); "
        f"{each.differs}"
        for each in _published(study)
    ]


if __name__ == "__main__":
    found = judged()
    for (page, name), text in texts(found).items():
        write_marked(DOCS / page, name, text)
    style.save(picture(list(found.values())), svg=PICTURE)
