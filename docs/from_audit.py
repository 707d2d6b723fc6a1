"""Write what pages say about the audit's findings from the audit; `make findings` runs this."""

import sys
from pathlib import Path

import pandas as pd

HOME = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HOME / "docs"), str(HOME / "workflow" / "scripts")]

from audit_precision import (  # noqa: E402
    CORRECTED,
    SEED,
    Precision,
    precision,
    precision_of_places,
    read_checked,
    read_places,
)
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.statistics.audit import RULES, audit_frame, read_document  # noqa: E402
from dmlbench.statistics.audit.check import BLAMED, CERTAIN, NOTE, SURE  # noqa: E402
from dmlbench.statistics.audit.defects import defects_of, findings_of, says  # noqa: E402
from dmlbench.words import counted  # noqa: E402

REFERENCE = HOME / "config" / "reference"
CHECKED = REFERENCE / "audit_checked.csv"
PLACES = REFERENCE / "audit_places.csv"
PAGES = ("docs/findings/printed.md", "docs/audit.md")


def texts(frame: pd.DataFrame) -> dict[str, str]:
    """Page -> the text between its markers.

    Args:
        frame: the checks of all documents, as `audit_frame` gives them.
    """
    defects, places = defects_of(frame), read_places(PLACES)
    headline = [_what_is_blamed(defects), _notes(frame), *_how_many_stand(defects, places)]
    return {
        "docs/findings/printed.md": "\n".join(
            [f"It makes {len(frame):,} checks and finds {says(defects)}.", *headline]
        ),
        "docs/audit.md": "\n".join(
            [
                f"{len(frame):,} checks find {says(defects)}.",
                *headline[:2],
                "",
                *_by_blame(defects),
                "",
                *_by_document(defects),
                "",
                *_by_rule(defects),
                "",
                "**Precision.** " + headline[2],
                *headline[3:],
                "",
                *_by_draw(places),
            ]
        ),
    }


def _what_is_blamed(defects: pd.DataFrame) -> str:
    certain = defects[defects["sure"] == CERTAIN]["blames"].value_counts()
    counts = [counted(certain.get(blamed, 0), blamed) for blamed in BLAMED]
    return f"The {CERTAIN} ones blame {', '.join(counts[:-1])} and {counts[-1]}."


def _notes(frame: pd.DataFrame) -> str:
    findings = findings_of(frame)
    notes = (findings["sure"] == NOTE).sum()
    return f"Of the {len(findings)} places, {notes} are notes, which only say where to look."


def _how_many_stand(defects: pd.DataFrame, places: pd.DataFrame) -> list[str]:
    left, drawn = precision(defects["defect"], read_checked(CHECKED)), precision_of_places(places)
    return [
        f"Of {left.checked + CORRECTED} defects that the authors of the rules read, {left.stand} "
        f"stood; the rules of the other {left.checked + CORRECTED - left.stand} were corrected or "
        "dropped.",
        f"Of {drawn.checked} places drawn from these {len(places)} and read again in print, "
        f"{drawn.stand} stand (95% interval for the {len(places)}: {_interval(drawn)}).",
    ]


def _interval(of: Precision) -> str:
    low, high = of.interval()
    return f"{100 * low:.0f} to {100 * high:.0f}%"


def _by_blame(defects: pd.DataFrame) -> list[str]:
    lines = [f"| defects (places) | {' | '.join(BLAMED)} | all |", "|:--" + "|--:" * 5 + "|"]
    for sure in SURE:
        own = defects[defects["sure"] == sure]
        cells = [own[own["blames"] == blamed]["places"] for blamed in BLAMED] + [own["places"]]
        lines.append(f"| {sure} | {' | '.join(f'{len(c)} ({c.sum()})' for c in cells)} |")
    return lines


def _by_document(defects: pd.DataFrame) -> list[str]:
    lines = [f"| document | defects | {' | '.join(SURE)} | {' | '.join(BLAMED)} |"]
    lines += ["|:--" + "|--:" * (1 + len(SURE) + len(BLAMED)) + "|"]
    for study, own in defects.groupby("study"):
        counts = [(own["sure"] == sure).sum() for sure in SURE]
        counts += [(own["blames"] == blamed).sum() for blamed in BLAMED]
        lines.append(f"| {study} | {len(own)} | {' | '.join(map(str, counts))} |")
    return lines


def _by_rule(defects: pd.DataFrame) -> list[str]:
    lines = ["| rule | defects | places |", "|:--|--:|--:|"]
    for rule, title in RULES.items():
        own = defects[defects["rule"] == rule]
        lines.append(f"| {title} | {len(own)} | {own['places'].sum()} |")
    return lines


def _by_draw(places: pd.DataFrame) -> list[str]:
    lines = [f"| places (seed {SEED}) | found | drawn | stand | 95% interval |"]
    lines += ["|:--|--:|--:|--:|--:|"]
    for sure in SURE:
        own = places[places["sure"] == sure]
        drawn = precision_of_places(own)
        counts = f"{len(own)} | {drawn.checked} | {drawn.stand} | {_interval(drawn)}"
        lines.append(f"| {sure} | {counts} |")
    return lines


def audited() -> pd.DataFrame:
    """The checks of all documents."""
    folders = sorted(path.parent for path in REFERENCE.glob("*/audit.yaml"))
    return pd.concat([audit_frame(read_document(folder)) for folder in folders])


if __name__ == "__main__":
    for page, text in texts(audited()).items():
        write_marked(HOME / page, "from_audit", text)
