"""The verdicts on claims as tables for people, and their counts."""

import os
from collections.abc import Iterable, Sequence

import pandas as pd

from dmlbench.files import write_csv, write_text
from dmlbench.statistics.claims import OURS, PRINTED, TEXTS
from dmlbench.statistics.claims.decisions import INCONCLUSIVE
from dmlbench.statistics.claims.verdicts import NOT_RUN, OUT_OF_SCOPE, RULE, VERDICTS
from dmlbench.statistics.other_classes import CLASS, LOSS, SEED, SPLIT


def read_claim_verdicts(path: str | os.PathLike) -> pd.DataFrame:
    """Read what `claims.claims` writes, and `claims_of_all`; texts that are missing are empty."""
    return pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str)).fillna(dict.fromkeys(TEXTS, ""))


def counts(verdicts: pd.DataFrame, evidence: str) -> dict[str, int]:
    """How many claims have which verdict by one kind of evidence; all of `VERDICTS`, in order."""
    own = verdicts[(verdicts["evidence"] == evidence) | (verdicts["verdict"] == OUT_OF_SCOPE)]
    counted = own["verdict"].value_counts()
    return {verdict: int(counted.get(verdict, 0)) for verdict in VERDICTS}


def in_rows(verdicts: pd.DataFrame) -> list[dict[str, str]]:
    """One row per claim, for people.

    Returns:
        says, place, printed and ours (the verdict and its numbers), elsewhere (the same of each
        stand-in, by its name) and reason (why a claim is out of scope).
    """
    rows = []
    for _, claim in verdicts.groupby("claim", sort=False):
        by_evidence = {each.evidence: each for each in claim.itertuples()}
        first = next(claim.itertuples())
        out = first.verdict == OUT_OF_SCOPE
        others = [each for name, each in by_evidence.items() if name not in ("", PRINTED, OURS)]
        rows.append(
            {
                "says": first.says,
                "place": f"{first.place}, line {first.line}",
                "printed": OUT_OF_SCOPE if out else _told(by_evidence[PRINTED]),
                "ours": "" if out else _told(by_evidence[OURS]),
                "elsewhere": [f"{each.evidence}: {_told(each)}" for each in others],
                "reason": first.because if out else "",
            }
        )
    return rows


def markdown(verdicts: pd.DataFrame) -> list[str]:
    """The claims of one document as a Markdown table.

    The column of our numbers is left out if nothing has run.
    """
    ran = (verdicts["evidence"] == OURS) & (verdicts["verdict"] != NOT_RUN)
    columns = ["claim", "printed numbers", *(["ours"] if ran.any() else []), "on other data"]
    lines = [f"| {' | '.join(columns)} | where |", "|:--" * (len(columns) + 1) + "|"]
    for row in in_rows(verdicts):
        told = [row["says"], row["printed"] + (f": {row['reason']}" if row["reason"] else "")]
        told += [row["ours"]] if ran.any() else []
        told += ["<br>".join(row["elsewhere"]), row["place"]]
        lines.append(f"| {' | '.join(each.replace('|', '/') for each in told)} |")
    return lines


def table_of_counts(frames: Sequence[pd.DataFrame]) -> list[str]:
    """How many claims of each document have which verdict, as a Markdown table."""
    lines = [f"| document | judged by | claims | {' | '.join(VERDICTS)} |"]
    lines.append("|:--|:--" + "|--:" * (len(VERDICTS) + 1) + "|")
    for frame in frames:
        for evidence in dict.fromkeys(frame["evidence"]):
            if not evidence:
                continue
            of = counts(frame, evidence)
            if evidence not in (PRINTED, OURS):
                of[OUT_OF_SCOPE] = 0
            cells = [str(sum(of.values())), *(str(count or "") for count in of.values())]
            lines.append(f"| {frame['study'].iloc[0]} | {evidence} | {' | '.join(cells)} |")
    return lines


def claims_of_all(
    files: Iterable[str | os.PathLike], csv: str | os.PathLike, md: str | os.PathLike
) -> None:
    """Write the verdicts on the claims of several documents as CSV, and as Markdown."""
    frames = [read_claim_verdicts(file) for file in files]
    write_csv(csv, pd.concat(frames, ignore_index=True))
    lines = ["# Claims", "", RULE, "", *table_of_counts(frames)]
    for frame in frames:
        lines += ["", f"## {frame['study'].iloc[0]}", "", *markdown(frame)]
    write_text(md, "\n".join([*lines, ""]))


def counted(csv: str | os.PathLike, md: str | os.PathLike) -> list[str]:
    """Lines for a terminal: how many claims of each document have which verdict, and the files."""
    lines = []
    for study, verdicts in read_claim_verdicts(csv).groupby("study", sort=False):
        for evidence in (PRINTED, OURS):
            of = counts(verdicts, evidence)
            shown = ", ".join(f"{count} {verdict}" for verdict, count in of.items() if count)
            lines.append(f"{study}, {evidence}: {sum(of.values())} claims: {shown}")
    return [*lines, f"{md}: the claims with their verdicts; {csv}: the same with all numbers"]


_BRIEFLY = {
    SEED: "other seeds",
    SPLIT: "other classes",
    CLASS: "other classes",
    LOSS: "other losses",
}
"""What an interval is about, in two words."""


def briefly(verdict) -> str:
    """A verdict with its number, interval and what repeats: `**supported** 1.3 [1, 2] seeds`."""
    if pd.isna(verdict.comparisons) or not verdict.comparisons:
        return f"**{verdict.verdict}**"
    told = f"**{verdict.verdict}** {verdict.estimate:.2f}"
    if verdict.high > verdict.low:
        told += f" [{verdict.low:.2f}, {verdict.high:.2f}] {_BRIEFLY[verdict.unit].split()[-1]}"
    return told


def _told(verdict) -> str:
    """A verdict with its numbers, and what its interval is about.

    Such as `contradicted (-5.0 [-5.8, -4.2], other seeds; 0 of 4)`.
    """
    if pd.isna(verdict.comparisons) or not verdict.comparisons:
        return verdict.verdict
    number = f"{verdict.estimate:.3g}" if pd.isna(verdict.low) else f"{verdict.estimate:.2f}"
    if verdict.high > verdict.low:
        number += f" [{verdict.low:.2f}, {verdict.high:.2f}], {_BRIEFLY[verdict.unit]}"
    told = [number]
    if verdict.comparisons > 1:
        told.append(f"{verdict.holds:.0f} of {verdict.comparisons:.0f}")
    if verdict.one_by_one and not pd.isna(verdict.one_by_one):
        told.append(f"one by one: {verdict.one_by_one}")
    if verdict.decides and not pd.isna(verdict.decides):
        told.append(f"decided by {verdict.decides}")
    if not pd.isna(verdict.repeats_needed):
        needed = verdict.repeats_needed
        told.append(f"{needed:.0f} seeds needed" if needed <= 1000 else "over 1000 seeds needed")
    elif verdict.verdict == INCONCLUSIVE and verdict.detects > 0:
        told.append(f"could show {verdict.detects:.1f}")
    return f"{verdict.verdict} ({'; '.join(told)})"
