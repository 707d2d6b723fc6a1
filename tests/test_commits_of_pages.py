"""Every commit that a page or a record names is in the repository, or said to be gone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
RECORDS = [
    *sorted((REPOSITORY / "results/benchmarks").glob("*.json")),
    *sorted((REPOSITORY / "results/published").glob("*/ran_on.csv")),
    *sorted((REPOSITORY / "results/published").glob("*/certificate.md")),
]
HASH = r"[0-9a-f]{7,40}"
RECORDED = re.compile(r"(?:\bcommit\W+|,)([0-9a-f]{12})(?:-dirty)?\b")
GONE = REPOSITORY / "docs/reading.md"
NAMED = re.compile(rf"\bcommits?\s+({HASH}(?:(?:,| and| to)\s+{HASH})*)\b")


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def named(page: Path) -> set[str]:
    lists = NAMED.findall(page.read_text())
    return {commit for each in lists for commit in re.findall(HASH, each)}


def recorded(record: Path) -> set[str]:
    return set(RECORDED.findall(record.read_text()))


def in_history(commit: str) -> bool:
    return any(each.startswith(commit) for each in git("rev-list", "HEAD").split())


@pytest.fixture(autouse=True)
def _whole_repository():
    if not shutil.which("git") or git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs a repository with all of its commits")


def test_commits_are_found():
    assert sum(len(named(page)) for page in PAGES) > 40
    assert sum(len(recorded(record)) for record in RECORDS) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_commits_of_the_repository(page):
    assert [commit for commit in sorted(named(page)) if not in_history(commit)] == []


@pytest.mark.parametrize(
    "record", RECORDS, ids=lambda record: str(record.relative_to(REPOSITORY / "results"))
)
def test_a_record_names_commits_of_the_repository_or_those_that_are_gone(record):
    gone = re.findall(HASH, GONE.read_text())
    unknown = [
        commit
        for commit in sorted(recorded(record))
        if not in_history(commit) and not any(commit.startswith(each) for each in gone)
    ]
    assert unknown == []
