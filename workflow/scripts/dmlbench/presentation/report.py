"""All studies on one page: a single file, whose links lead to the files next to it."""

import base64
import json
import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pandas as pd

from dmlbench.data.account import account_of
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.machine import PROVENANCE, commit, lock, machine, software
from dmlbench.parquet import read_metadata
from dmlbench.plan import paths
from dmlbench.plan.verify import differences
from dmlbench.presentation._scatter import scatter
from dmlbench.presentation._stacked_bar import stacked_bar
from dmlbench.presentation._templates import environment
from dmlbench.presentation.answer import answer
from dmlbench.presentation.names import EXPLAINED, REHEARSAL, SELECTIONS, name
from dmlbench.presentation.run_facts import ending_of, endings
from dmlbench.presentation.study import StudyPage, headline, read_tournament
from dmlbench.statistics.agreement import summary
from dmlbench.statistics.audit import RULES
from dmlbench.statistics.audit.defects import defects_of, findings_of, says
from dmlbench.statistics.claims import OURS, PRINTED
from dmlbench.statistics.claims.summary import counts, in_rows, read_claim_verdicts
from dmlbench.statistics.claims.verdicts import RULE as CLAIM_RULE
from dmlbench.statistics.printed import display_table
from dmlbench.statistics.verdicts import RULE, VERDICTS

_REPRODUCED = "Deep metric learning, reproduced"

_MANY = 12
"""Number of findings of one check above which they are collapsed."""


def report(studies: Sequence[StudyPage], output: str | os.PathLike) -> None:
    """Write one HTML page with every study: question, numbers, tables, figures, protocol.

    The page contains its style and pictures and links, by relative paths, only to the files of the
    studies' tables, figures and numbers. Printed numbers that several studies audit are shown once;
    the page ends with the machine and software that wrote it.

    Args:
        studies: see `study.StudyPage` for the keys.
        output: the HTML file to write.

    Raises:
        UserError: no studies.
    """
    if not studies:
        raise UserError("a report needs at least one study; config/config.yaml names none")
    folder = Path(output).parent
    audited = {str(study["audit"]["csv"]): study for study in studies if study["audit"]}
    templates = environment()
    templates.filters["inline"] = _inline
    templates.filters["content"] = lambda path: Path(path).read_text(encoding="utf-8")
    templates.filters["link"] = lambda path: Path(os.path.relpath(path, folder)).as_posix()
    # The user's own come first, each group in the given order.
    ordered = sorted(studies, key=lambda study: not study.get("folders"))
    page = templates.get_template("report.html").render(
        title=_title(ordered),
        studies=[_view(study) for study in ordered],
        audits=[_audit(study) for study in audited.values()],
        machine=machine(),
        software=_versions(software(), lock(), commit()),
        rehearsal=REHEARSAL if any(study["rehearsal"] for study in studies) else "",
    )
    with atomic_write(output) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def _title(studies: Sequence[StudyPage]) -> str:
    """The page's title: a single study's own, and what several have in common."""
    if len(studies) == 1:
        return studies[0]["title"]
    own = [bool(study.get("folders")) for study in studies]
    if all(own):
        return "Studies of your images"
    return "Your images, and deep metric learning, reproduced" if any(own) else _REPRODUCED


def _view(study: StudyPage) -> dict:
    view = study | {
        "accounts": _accounts(study),
        "answer": answer(study),
        "board": [],
        "endings": _endings(study),
        "stages": _stages(study["timings"]),
        "trained_on": _trained_on(study),
        "claimed": _claims(study) if study["claims"] else None,
        "machines_differ": _machines_differ(study),
        "verdicts": _verdicts(study) if study["agreement"] else None,
    }
    if study["tournament"] is None:
        return view
    board = read_tournament(study)
    return view | {
        "headline": headline(study),
        "board": _with_places(board).to_dict("records"),
        "sure": bool(board["rank_low"].notna().all()),
        "tied": bool(board["ties"].any()),
        "metric_title": name(study["titles"], study["metric"]),
        "selection_title": SELECTIONS[study["selection"]],
        "selection_explained": EXPLAINED[study["selection"]],
    }


def _with_places(board: pd.DataFrame) -> pd.DataFrame:
    """The board with places on an axis from rank 1 to the last, in percent of its length.

    `at`: of the mean rank; `left` and `right`: of the ends of its interval, from each end.
    """
    percent = 100 / max(len(board) - 1, 1)
    at, left, right = (
        (board[column] - 1) * percent for column in ("average_rank", "rank_low", "rank_high")
    )
    return board.assign(at=at.round(1), left=left.round(1), right=(100 - right).round(1))


def _accounts(study: StudyPage) -> dict[str, dict[str, str]]:
    """The account of each data set of the user's own whose index and split exist."""
    return {
        title: account_of(Path(files["index"]), Path(files["split"]))
        for title, files in study.get("folders", {}).items()
        if all(Path(file).is_file() for file in files.values())
    }


def _trained_on(study: StudyPage) -> list[str]:
    """What the study's trainings ran on, from their histories; one line for each machine.

    Trainings without a history, or without this record, are left out.
    """
    trainings: Counter[tuple] = Counter()
    for history in _histories(study):
        known = read_metadata(history).get(PROVENANCE) if history.is_file() else None
        if known:
            where = json.loads(known)
            keys = ("device", "machine", "threads", "resumed", "software", "lock", "commit")
            trainings[tuple(where.get(key, "") for key in keys)] += 1
    return [
        f"{count} on {device}: {_on(on, threads, resumed)}; {_versions(made_with, locked, code)}"
        for (device, on, threads, resumed, made_with, locked, code), count in trainings.items()
    ]


def _on(machine: str, threads: str, resumed: str) -> str:
    parts = [machine, f"{threads} thread{'s' * (str(threads) != '1')}" if threads else ""]
    parts.append(f"resumed under other conditions ({resumed})" if resumed else "")
    return ", ".join(filter(None, parts))


def _machines_differ(study: StudyPage) -> list[str]:
    """In what the machines of the study's trainings differ."""
    return differences(list(map(str, _histories(study))))


def _versions(packages: str, locked: str, code: str) -> str:
    parts = [packages, f"requirements.lock {locked}" if locked else ""]
    parts.append(f"commit {code}" if code else "")
    return "; ".join(filter(None, parts))


def _endings(study: StudyPage) -> dict[str, int]:
    """How many trainings end with their best score."""
    return endings(list(map(ending_of, _histories(study))))


def _histories(study: StudyPage) -> list[Path]:
    """The history of each of the study's runs, whether or not it is there."""
    results = Path(study["scores"]).parents[2]
    runs = pd.read_parquet(study["scores"], columns=["run"])["run"].unique()
    return [results / paths.made("train", "history", run=run) for run in runs]


def _verdicts(study: StudyPage) -> dict:
    """How many printed numbers have which verdict, in total and by table, and two pictures."""
    verdicts = pd.read_csv(study["agreement"], dtype={"table": str})
    counts = summary(verdicts)
    tables = {display_table(table): summary(cells) for table, cells in verdicts.groupby("table")}
    return counts | {
        "tables": tables,
        "rule": RULE,
        "bar": stacked_bar({verdict: counts[verdict] for verdict in VERDICTS}),
        "scatter": scatter(
            verdicts,
            lambda method, metric: escape(
                f"{name(study['titles'], method)}, {name(study['titles'], metric)}"
            ),
        ),
    }


def _claims(study: StudyPage) -> dict:
    """The claims with their verdicts, and two pictures of how many have which."""
    verdicts = read_claim_verdicts(study["claims"])
    of = {evidence: counts(verdicts, evidence) for evidence in (PRINTED, OURS)}
    return {
        "rows": in_rows(verdicts),
        "total": verdicts["claim"].nunique(),
        "counts": of,
        "bars": {evidence: stacked_bar(each) for evidence, each in of.items()},
        "rule": CLAIM_RULE,
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


def _audit(study: StudyPage) -> dict:
    frame = pd.read_csv(study["audit"]["csv"], dtype=str, keep_default_na=False)
    frame["title"] = [name(study["titles"], method) for method in frame["method"]]
    defects = defects_of(frame)
    checks = []
    for rule, title in RULES.items():
        cells = frame[frame["rule"] == rule]
        wrong = findings_of(cells)
        checks.append(
            {
                "description": title,
                "checked": len(cells),
                "wrong": wrong.to_dict("records"),
                "defects": int((defects["rule"] == rule).sum()),
                "fold": len(wrong) > _MANY,
            }
        )
    return {
        "document": frame["study"].iloc[0],
        "checks": [check for check in checks if check["checked"]],
        "checked": len(frame),
        "says": says(defects),
        "files": study["audit"],
    }


def _inline(path: str | os.PathLike) -> str:
    """An SVG picture as a data address."""
    content = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return f"data:image/svg+xml;base64,{content}"
