"""docs/elsewhere.md, followed to the letter in an empty folder."""

from project import REPOSITORY
from test_own_page import FENCED, add, run

PAGE = (REPOSITORY / "docs" / "elsewhere.md").read_text()


def test_the_page_runs_and_prints_what_it_shows(tmp_path):
    (tmp_path / "empty").mkdir()
    printed = ""
    for kind, block in FENCED.findall(PAGE):
        if kind == "python":
            add(tmp_path / "empty", block)
        elif kind == "bash":
            printed = run(tmp_path / "empty", block)
        else:
            assert [line for line in block.splitlines() if line not in printed] == []
    assert r"\begin{table}" in (tmp_path / "empty" / "results.tex").read_text()
