"""Every commit that a page names as that of its numbers is in the repository."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
HASH = r"[0-9a-f]{7,40}"
NAMED = re.compile(rf"\bcommits?\s+({HASH}(?:(?:,| and| to)\s+{HASH})*)\b")


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def named(page: Path) -> set[str]:
    lists = NAMED.findall(page.read_text())
    return {commit for each in lists for commit in re.findall(HASH, each)}


def test_commits_are_found():
    assert sum(len(named(page)) for page in PAGES) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_commits_of_the_repository(page):
    if not shutil.which("git") or git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs a repository with all of its commits")
    known = git("rev-list", "HEAD").split()
    for commit in named(page):
        assert any(each.startswith(commit) for each in known), commit
