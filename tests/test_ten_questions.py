"""Ten questions of a reader: each is answered two clicks from README, on the screen that opens."""

import re
from pathlib import Path

import pytest
from project import REPOSITORY
from test_pages import heading_anchor

SCREEN = 40
"""Lines that a screen shows of a page's text."""

QUESTIONS = {
    "Which loss for my 25 species, without a GPU?": (
        ["docs/which_loss.md", "#own-pictures-no-gpu"],
        "No loss is shown to be better",
    ),
    "And with noisy labels?": (
        ["docs/which_loss.md"],
        "no study has run with wrong labels",
    ),
    "Do later losses beat the contrastive loss?": (
        ["docs/results.md#findings", "findings/heads.md"],
        "no loss is shown to be better than Contrastive",
    ),
    "How do I reproduce table 11, and what does it cost?": (
        ["docs/running.md#what-to-call"],
        "snakemake psomas2020_table_11 -nq             # what it would train, and how long",
    ),
    "Where is my model?": (
        ["docs/files.md#runs"],
        "| `model.safetensors`, `last.safetensors` | weights of the selected epoch",
    ),
    "Why did this fail?": (
        ["docs/troubleshooting.md"],
        "lists everything that failed, with reason and log",
    ),
    "Can I trust the birds' results?": (
        ["docs/results.md#findings", "findings/heads.md"],
        "two hundred classes cannot decide",
    ),
    "Is my version comparable?": (
        ["CHANGELOG.md"],
        "Which results change, and what to do",
    ),
    "What does PROFS do?": (
        ["docs/results.md#findings", "findings/projections.md"],
        "**What PROFS does**",
    ),
    "How long does it take on my GPU?": (
        ["docs/gpu.md#the-first-minutes-on-a-gpu"],
        "how long a study takes",
    ),
}


def links(page: Path) -> set[str]:
    return set(re.findall(r"\]\(([^):]+)\)", page.read_text()))


def screen(page: Path, anchor: str) -> str:
    """What a reader sees of a page, from a heading on, words by one blank."""
    lines = page.read_text().splitlines()
    begins = 0
    if anchor:
        begins = next(
            number
            for number, line in enumerate(lines)
            if line.startswith("#") and heading_anchor(line.lstrip("# ")) == anchor
        )
    return " ".join("\n".join(lines[begins : begins + SCREEN]).split())


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_two_clicks_from_the_readme(question):
    path, answer = QUESTIONS[question]
    page, anchor = REPOSITORY / "README.md", ""
    for link in path:
        assert link in links(page), (page.name, link)
        target, _, anchor = link.partition("#")
        page = (page.parent / target).resolve() if target else page
    assert len(path) <= 2
    assert " ".join(answer.split()) in screen(page, anchor)
