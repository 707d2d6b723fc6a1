"""docs/use.md, followed to the letter in a copy of the project, after the digits of docs/own.md."""

import sys

import pytest
from project import REPOSITORY, Project
from test_own_page import FENCED, add, run

PAGE = (REPOSITORY / "docs" / "use.md").read_text()


@pytest.mark.workflow
def test_the_page_runs_and_prints_what_it_shows(tmp_path):
    (tmp_path / "dmlbench").mkdir()
    project = Project(tmp_path / "dmlbench")
    (project.folder / ".venv").symlink_to(sys.prefix)
    own = FENCED.findall((REPOSITORY / "docs" / "own.md").read_text())
    (digits,) = (block for _, block in own if block.startswith("# digits.py\n"))
    add(project.folder, digits)
    run(project.folder, "source .venv/bin/activate; python digits.py")

    printed = ""
    for kind, block in FENCED.findall(PAGE):
        if kind in ("python", "yaml"):
            add(project.folder, block)
        elif kind == "bash":
            printed = run(project.folder, f"source .venv/bin/activate\n{block}", project.folder)
        else:
            assert [line for line in block.splitlines() if line not in printed] == []
    assert (tmp_path / "found.html").read_text().count("<img") == 4
