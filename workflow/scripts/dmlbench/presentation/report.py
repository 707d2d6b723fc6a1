"""All studies on one page: a single file, whose links lead to the files next to it."""

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pandas as pd

from dmlbench.data.account import account_of
from dmlbench.errors import UserError
from dmlbench.machine import commit, lock, machine, software
from dmlbench.plan import paths
from dmlbench.plan.records import ran_on
from dmlbench.plan.records.verify import differences
from dmlbench.presentation._pictures import scatter, stacked_bar
from dmlbench.presentation._templates import write_page
from dmlbench.presentation.answer import answer
from dmlbench.presentation.run_facts import ending_of, endings
from dmlbench.presentation.study import StudyPage, headline, read_tournament
from dmlbench.presentation.texts import EXPLAINED, SELECTIONS, name
from dmlbench.statistics.agreement import summary
from dmlbench.statistics.audit import RULES
from dmlbench.statistics.audit.defects import defects_of, findings_of, says
from dmlbench.statistics.claims import OURS, PRINTED
from dmlbench.statistics.claims.summary import counts, in_rows, read_claim_verdicts
from dmlbench.statistics.claims.verdicts import RULE as CLAIM_RULE
from dmlbench.statistics.printed import display_table
from dmlbench.statistics.printed_verdicts import RULE, VERDICTS

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
    audited = {str(study["audit"]["csv"]): study for study in studies if study["audit"]}
    # The user's own come first, each group in the given order.
    ordered = sorted(studies, key=lambda study: not study.get("folders"))
    write_page(
        "report.html",
        output,
        title=_title(ordered),
        studies=[_view(study) for study in ordered],
        audits=[_audit(study) for study in audited.values()],
        machine=machine(),
        software=_versions(software(), lock(), commit()),
        rehearsal=any(study["rehearsal"] for study in studies),
    )


def _title(studies: Sequence[StudyPage]) -> str:
    """The page's title: a single study's own, and what several have in common."""
    if len(studies) == 1:
        return studies[0]["title"]
    own = [bool(study.get("folders")) for study in studies]
    if all(own):
        return "Studies of your images"
    return "Your images, and deep metric learning, reproduced" if any(own) else _REPRODUCED


def _view(study: StudyPage) -> dict:
    results = Path(study["scores"]).parents[2]
    runs = pd.read_parquet(study["scores"], columns=["run"])["run"].unique()
    histories = [results / paths.made("train", "history", run=run) for run in runs]
    view = study | {
        "accounts": _accounts(study),
        "answer": answer(study),
        "board": [],
        "endings": endings(list(map(ending_of, histories))),
        "stages": _stages(study["timings"]),
        "trained_on": _trained_on(histories),
        "claimed": _claims(study) if study["claims"] else None,
        "machines_differ": differences(list(map(str, histories))),
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


def _trained_on(histories: Sequence[Path]) -> list[str]:
    """What a study's trainings ran on, from their histories; one line for each machine.

    Trainings without a history, or without this record, are left out.
    """
    facts = ("device", "machine", "threads", "resumed", "software", "lock", "commit")
    return [
        f"{count} on {device}: {_on(on, threads, resumed)}; {_versions(made_with, locked, code)}"
        for count, device, on, threads, resumed, made_with, locked, code in (
            each.values() for each in ran_on.counts(histories, facts)
        )
    ]


def _on(machine: str, threads: str, resumed: str) -> str:
    parts = [machine, f"{threads} thread{'s' * (str(threads) != '1')}" if threads else ""]
    parts.append(f"resumed under other conditions ({resumed})" if resumed else "")
    return ", ".join(filter(None, parts))


def _versions(packages: str, locked: str, code: str) -> str:
    parts = [packages, f"requirements.lock {locked}" if locked else ""]
    parts.append(f"commit {code}" if code else "")
    return "; ".join(filter(None, parts))


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
    """What each stage cost: jobs, total, slowest and its run, memory (missing if unknown)."""
    if timings is None:
        return []
    spent = pd.read_csv(timings).dropna(subset=["seconds"])
    by_stage = spent.groupby("stage", sort=False)
    stages = by_stage["seconds"].agg(jobs="size", total="sum", slowest="max")
    stages["memory"] = by_stage["max_rss_mb"].max()
    slowest = spent.loc[by_stage["seconds"].idxmax(), "run"].to_numpy()
    return stages.assign(slowest_run=slowest).reset_index().to_dict("records")


def _audit(study: StudyPage) -> dict:
    frame = pd.read_csv(study["audit"]["csv"], dtype=str, keep_default_na=False)
    frame["title"] = [name(study["titles"], method) for method in frame["method"]]
    defects, checks = defects_of(frame), []
    for rule, title in RULES.items():
        cells = frame[frame["rule"] == rule]
        wrong = findings_of(cells).to_dict("records")
        check = {"description": title, "checked": len(cells), "wrong": wrong}
        check |= {"defects": int((defects["rule"] == rule).sum()), "fold": len(wrong) > _MANY}
        checks += [check] if len(cells) else []
    return {
        "document": frame["study"].iloc[0],
        "checks": checks,
        "checked": len(frame),
        "says": says(defects),
        "files": study["audit"],
    }
