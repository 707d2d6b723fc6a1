"""Write what pages say about the audit's findings from the audit; `make audit-pages` runs this."""

import sys
from pathlib import Path

import pandas as pd

HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME / "workflow" / "scripts"))

from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.statistics.audit import RULES, audit_frame, read_document  # noqa: E402
from dmlbench.statistics.audit.check import BLAMED, SURE  # noqa: E402
from dmlbench.statistics.audit.defects import defects_of, says  # noqa: E402
from dmlbench.statistics.audit.precision import (  # noqa: E402
    SEED,
    drawn,
    precision,
    read_checked,
)

REFERENCE = HOME / "config" / "reference"
CHECKED = REFERENCE / "audit_checked.csv"
PAGES = ("README.md", "docs/results.md", "docs/audit.md")


def texts(frame: pd.DataFrame) -> dict[str, str]:
    """Page -> the text between its markers.

    Args:
        frame: the checks of all documents, as `audit_frame` gives them.
    """
    defects, checked = defects_of(frame), read_checked(CHECKED)
    sample = precision(drawn(defects["defect"]), checked)
    every = precision(defects["defect"], checked)
    stand = f"{sample.stand} of {sample.checked} drawn by chance"
    return {
        "README.md": (
            f"An audit of the printed numbers finds {says(defects)}.\n"
            f"Checked by hand, {stand} stand ([what it checks](docs/audit.md); "
            "`snakemake --cores 1 audit`)."
        ),
        "docs/results.md": (
            f"It makes {len(frame):,} checks and finds {says(defects)}.\n"
            f"Checked by hand, {stand} stand."
        ),
        "docs/audit.md": "\n".join(
            [
                f"{len(frame):,} checks find {says(defects)}.",
                "",
                *_by_document(defects),
                "",
                *_by_rule(defects),
                "",
                f"**Precision.** Of {sample.checked} defects drawn by chance (seed {SEED}), "
                f"{sample.stand} stand ({100 * sample.stand / sample.checked:.0f} %); of all "
                f"{every.checked}, {every.stand}.",
            ]
        ),
    }


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


def audited() -> pd.DataFrame:
    """The checks of all documents."""
    folders = sorted(path.parent for path in REFERENCE.glob("*/audit.yaml"))
    return pd.concat([audit_frame(read_document(folder)) for folder in folders])


if __name__ == "__main__":
    for page, text in texts(audited()).items():
        write_marked(HOME / page, "from_audit", text)
