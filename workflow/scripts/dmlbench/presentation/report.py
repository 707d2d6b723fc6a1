"""All studies on one page, in one file that needs nothing else."""

import base64
import os
from collections.abc import Sequence
from pathlib import Path

import jinja2
import pandas as pd

from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.presentation.machine import machine, software
from dmlbench.presentation.names import EXPLAINED, REHEARSAL, SELECTIONS, name
from dmlbench.presentation.numbers import rounded
from dmlbench.presentation.study import Study, headline, read_tournament
from dmlbench.statistics.audit import RULES
from dmlbench.statistics.audit.check import AGREES

_TEMPLATES = Path(__file__).parent / "templates"
_MANY = 12
"""Deviations of one check above which they fold away."""


def report(studies: Sequence[Study], output: str | os.PathLike) -> None:
    """Write one HTML page with every study: question, numbers, tables, figures, how it was run.

    The page holds its style and pictures itself and links, by relative paths, to nothing but the
    files of the studies' tables, figures and numbers. Printed numbers that several studies audit
    are shown once; the page ends with the machine and the software that wrote it.

    Args:
        studies: see `study.Study` for the keys.
        output: the HTML file to write.

    Raises:
        UserError: no studies.
    """
    if not studies:
        raise UserError("a report needs at least one study; config/config.yaml names none")
    folder = Path(output).parent
    audited = {str(study["audit"]["csv"]): study for study in studies if study.get("audit")}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = duration
    environment.filters["rounded"] = rounded
    environment.filters["inline"] = _inline
    environment.filters["content"] = lambda path: Path(path).read_text(encoding="utf-8")
    environment.filters["link"] = lambda path: Path(os.path.relpath(path, folder)).as_posix()
    page = environment.get_template("report.html").render(
        studies=[_view(study) for study in studies],
        audits=[_audit(study) for study in audited.values()],
        machine=machine(),
        software=software(),
        rehearsal=REHEARSAL if any(study.get("rehearsal") for study in studies) else "",
    )
    with atomic_write(output) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def duration(seconds: float) -> str:
    """Seconds as a reader says them: 4.2 s, 3 min 20 s, 2 h 05 min (spaces that do not break)."""
    minutes, rest = divmod(round(seconds), 60)
    if seconds < 59.95:
        text = f"{seconds:.1f} s"
    elif minutes < 60:
        text = f"{minutes} min {rest:02d} s"
    else:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _view(study: Study) -> dict:
    view = {**study, "stages": _stages(study["timings"]), "board": []}
    if study["tournament"] is None:
        return view
    board = read_tournament(study)
    return view | {
        "headline": headline(study),
        "board": board.to_dict("records"),
        "worst_average": len(board),
        "metric_title": name(study["titles"], study["metric"]),
        "selection_title": SELECTIONS[study["selection"]],
        "selection_explained": EXPLAINED[study["selection"]],
    }


def _stages(timings: str | os.PathLike | None) -> list[dict]:
    if timings is None:
        return []
    stages = []
    for stage, rows in pd.read_csv(timings).dropna(subset=["seconds"]).groupby("stage", sort=False):
        slowest = rows.loc[rows["seconds"].idxmax()]
        peak = rows["max_rss_mb"].max()
        stages.append(
            {
                "stage": stage,
                "jobs": len(rows),
                "total": rows["seconds"].sum(),
                "slowest": slowest["seconds"],
                "slowest_run": slowest["run"],
                "memory": None if pd.isna(peak) else peak,
            }
        )
    return stages


def _audit(study: Study) -> dict:
    frame = pd.read_csv(study["audit"]["csv"], dtype=str, keep_default_na=False)
    frame["title"] = [name(study["titles"], method) for method in frame["method"]]
    checks = []
    for rule, title in RULES.items():
        cells = frame[frame["rule"] == rule]
        wrong = cells[cells["kind"] != AGREES]
        checks.append(
            {
                "description": title,
                "checked": len(cells),
                "wrong": wrong.to_dict("records"),
                "fold": len(wrong) > _MANY,
            }
        )
    return {
        "document": frame["study"].iloc[0],
        "checks": [check for check in checks if check["checked"]],
        "checked": len(frame),
        "files": study["audit"],
    }


def _inline(path: str | os.PathLike) -> str:
    """An SVG picture as a data address."""
    content = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return f"data:image/svg+xml;base64,{content}"
