"""The terminal's summary of a finished study."""

import os
import textwrap
from collections.abc import Sequence

from dmlbench.presentation.answer import answer
from dmlbench.presentation.study import StudyPage, headline, read_tournament
from dmlbench.presentation.texts import REHEARSAL, SELECTIONS, name, rounded
from dmlbench.words import counted

_WIDTH = 78
"""Characters per line."""


def summary(
    study: StudyPage, *, report: str | os.PathLike | None = None, next_steps: Sequence[str] = ()
) -> str:
    """A finished study as plain text: tournament, winner next to the baseline, files, next steps.

    Args:
        study: see `study.StudyPage` for the keys.
        report: the report's path, printed with the files.
        next_steps: lines printed last, unchanged.

    Returns:
        Lines of at most the terminal's usual width unless paths are longer, ending in a line break.
    """
    lines = [study["title"], "=" * len(study["title"]), ""]
    lines += [REHEARSAL, ""] if study["rehearsal"] else []
    lines += _answer(study)
    lines += _ranking(study) if study["tournament"] else []
    files = [("table", table["md"]) for table in study["tables"]]
    files += [("figure", figure["png"]) for figure in study["figures"]]
    files += [("scores", study["scores"])]
    files += [("report", report)] if report else []
    lines += [f"{kind:<8}{os.fspath(path)}" for kind, path in files]
    if next_steps:
        lines += ["", "Next:", *(f"  {step}" for step in next_steps)]
    return "\n".join(lines) + "\n"


def _answer(study: StudyPage) -> list[str]:
    """The question, and its answer from the scores."""
    sentences = answer(study)
    if not sentences:
        return []
    question = textwrap.wrap(study["question"], _WIDTH) if study["question"] else []
    return [*question, *textwrap.wrap(" ".join(sentences), _WIDTH, break_on_hyphens=False), ""]


def _ranking(study: StudyPage) -> list[str]:
    numbers = headline(study)
    return [
        f"Tournament by {name(study['titles'], study['metric'])} "
        f"({SELECTIONS[study['selection']]}), "
        f"{counted(numbers.experiments, 'experiment')}, {counted(numbers.runs, 'run')}",
        "",
        *_tournament(study),
        *(f"  {caveat}" for caveat in numbers.caveats),
        "",
        *_numbers(study, numbers),
        "",
    ]


def _tournament(study: StudyPage) -> list[str]:
    board = read_tournament(study)
    rows = [("", "loss", "total", "mean", "std")]
    for place, row in enumerate(board.itertuples(), start=1):
        std = "-" if row.rank_std != row.rank_std else rounded(row.rank_std, 2)
        shared = " =" if row.ties else ""
        total, mean = f"{row.total_rank:g}", rounded(row.average_rank, 2)
        rows.append((f"{place}", row.title + shared, total, mean, std))
    lines = _aligned(rows, left=(1,))
    if board["ties"].any():
        lines += ["  = shares a rank in some experiment"]
    return lines


def _numbers(study: StudyPage, numbers) -> list[str]:
    mean = f", mean of {numbers.averaged} runs" if numbers.averaged > 1 else ""
    percent = all(unit for _, unit, *_ in numbers.metrics)
    last = "last epoch" if study["selection"] != "last_epoch" else ""
    heads = [f"{numbers.winner}, {SELECTIONS[study['selection']]}", last, numbers.baseline]
    rows = [(f"{'percent' if percent else 'score'}{mean}", *filter(None, heads))]
    for title, unit, *values in numbers.metrics:
        label = title if percent or not unit else f"{title} ({unit})"
        shown = (value for value, head in zip(values, heads, strict=True) if head)
        rows.append((label, *("-" if each is None else rounded(each, 2) for each in shown)))
    return _aligned(rows, left=(0,))


def _aligned(rows: list[tuple[str, ...]], *, left: tuple[int, ...]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            text.ljust(width) if index in left else text.rjust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
