"""A table's four formats against strings written by hand."""

import math
import re
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
from dmlbench.presentation._latex import _ESCAPED, _width
from dmlbench.presentation._latex import escape as latex_escape
from dmlbench.presentation._markdown import escape as markdown_escape
from dmlbench.presentation.table import Cell, Column, Table, TableRow, write
from latex import typeset
from matplotlib.ft2font import FT2Font, LoadFlags


def row(label, *cells, baseline=False):
    return TableRow(label, tuple(c if isinstance(c, Cell) else Cell(c) for c in cells), baseline)


@pytest.fixture
def table():
    return Table(
        id="recall",
        title="Recall & more",
        caption="In %.",
        row_header="Loss",
        columns=(
            Column("d64_recall_at_1", "R@1", "64-D", better="higher"),
            Column("d64_rank", "Rank", "64-D", decimals=0, better="lower"),
            Column("note", "Note", better=""),
        ),
        rows=(
            row("Triplet", Cell(50.126, 1.5), 3, "semi_hard"),
            row("N-Pair", Cell(60.0), 1, None),
            row("Untrained", 99.0, math.nan, "-", baseline=True),
            row("Margin", 55.0, 2, ""),
        ),
        notes=("One < two.",),
    )


def test_csv(table):
    assert table.to_csv() == (
        "Loss,d64_recall_at_1,d64_recall_at_1_std,d64_rank,note\n"
        "Triplet,50.13,1.50,3,semi_hard\n"
        "N-Pair,60.00,,1,\n"
        "Untrained,99.00,,,-\n"
        "Margin,55.00,,2,\n"
    )


def test_markdown(table):
    assert table.to_markdown() == (
        "**Recall & more**\n"
        "\n"
        "In %.\n"
        "\n"
        "| Loss      |     64-D R@1 | 64-D Rank |       Note |\n"
        "| :-------- | -----------: | --------: | ---------: |\n"
        "| Triplet   | 50.13 ± 1.50 |         3 | semi\\_hard |\n"
        "| N-Pair    |    **60.00** |     **1** |          – |\n"
        "| Untrained |        99.00 |         – |          - |\n"
        "| Margin    | <u>55.00</u> |  <u>2</u> |          – |\n"
        "\n"
        "- One \\< two.\n"
    )


def test_latex(table):
    assert table.to_latex() == (
        "% needs \\usepackage{booktabs,graphicx}\n"
        "\\begin{table}[t]\n"
        "\\centering\n"
        "\\caption{Recall \\& more. In \\%.}\n"
        "\\label{tab:recall}\n"
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        "\\begin{tabular}{lrrr}\n"
        "\\toprule\n"
        "& \\multicolumn{2}{c}{64-D} & \\multicolumn{1}{c}{} \\\\\n"
        "\\cmidrule(lr){2-3}\n"
        "Loss & R@1 & Rank & Note \\\\\n"
        "\\midrule\n"
        "Triplet & 50.13 $\\pm$ 1.50 & 3 & semi\\_hard \\\\\n"
        "N-Pair & \\textbf{60.00} & \\textbf{1} & -- \\\\\n"
        "\\midrule\n"
        "Untrained & 99.00 & -- & - \\\\\n"
        "Margin & \\underline{55.00} & \\underline{2} & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "}\n"
        "\\par\\smallskip{\\footnotesize One \\textless{} two.}\n"
        "\\end{table}\n"
    )


def wide(groups, of_each, rows=3):
    columns = [
        Column(f"{group}{place}", "MAP@R", group=f"{group}-D" if of_each > 1 else "")
        for group in range(groups)
        for place in range(of_each)
    ]
    rows = [row(f"Loss {place}", *([12.5] * len(columns))) for place in range(rows)]
    return Table("t", "T", "", "Loss", tuple(columns), tuple(rows))


@pytest.mark.parametrize(
    ("groups", "of_each", "rows", "expected"),
    [
        (2, 3, 3, [6]),
        (4, 3, 3, [6, 6]),
        (3, 4, 3, [4, 4, 4]),  # groups stay together
        (1, 12, 3, [12]),  # and are shrunk if they are wider than a line
        (9, 1, 3, [6, 3]),
        (4, 3, 30, [12]),  # too long for two parts
    ],
)
def test_latex_that_is_wider_than_a_line_is_split_at_groups(groups, of_each, rows, expected):
    text = wide(groups, of_each, rows).to_latex()
    assert [len(found) for found in re.findall(r"{tabular}{l(r+)}", text)] == expected
    assert text.count("Loss 0 &") == len(expected)
    assert text.count("MAP@R") == sum(expected)
    assert text.count(r"\resizebox{\ifdim\width>\linewidth") == len(expected)
    assert text.count(r"\caption") == text.count(r"\label") == 1


def test_latex_that_is_taller_than_a_page_is_continued_at_a_panel_if_it_can():
    rows = [
        replace(row(f"Loss {place}", float(place)), panel=panel)
        for panel, count in (("a", 30), ("b", 10), ("c", 50))
        for place in range(count)
    ]
    text = Table("t", "T", "Of all.", "Loss", (Column("x", "X"),), tuple(rows), ("N.",)).to_latex()
    *pages, end = text.split("\\end{table}\n")
    found = [re.findall(r"Loss (\d+) &", page) for page in pages]
    assert [len(page) for page in found] == [30, 10, 36, 14]
    headings = [re.findall(r"textit{(\w)}", page) for page in pages]
    assert headings == [["a"], ["b"], ["c"], ["c"]]
    assert [page.count("T (continued)") for page in pages] == [0, 1, 1, 1]
    assert text.count("Of all.") == text.count("\\label") == text.count("N.") == 1
    assert "N." in pages[-1]
    assert end == ""


@pytest.mark.parametrize(
    "text",
    ["50.13 ± 1.50", "+0.42 [-0.31, 1.15]", "Multi-Similarity", "R-precision", "MAP@R", "half"],
)
def test_estimated_widths_are_nearly_those_of_computer_modern(text):
    # matplotlib brings the font; its file lacks the sign of a spread, which is as wide as a plus.
    font = FT2Font(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "cmr10.ttf")))
    font.set_size(10, 72)
    font.set_text(text.replace("±", "+"), flags=LoadFlags.NO_HINTING)
    assert _width(text) == pytest.approx(font.get_width_height()[0] / 64, rel=0.15)


def test_html(table):
    assert table.to_html() == (
        "<table>\n"
        "<caption><span><strong>Recall &amp; more.</strong> In %.</span></caption>\n"
        "<thead>\n"
        '<tr><td></td><th colspan="2" scope="colgroup">64-D</th><td colspan="1"></td></tr>\n'
        '<tr><th scope="col">Loss</th><th scope="col">R@1</th><th scope="col">Rank</th>'
        '<th scope="col">Note</th></tr>\n'
        "</thead>\n"
        "<tbody>\n"
        '<tr><th scope="row">Triplet</th><td>50.13 ± 1.50</td><td>3</td>'
        "<td>semi_hard</td></tr>\n"
        '<tr><th scope="row">N-Pair</th><td class="best">60.00</td><td class="best">1</td>'
        "<td>–</td></tr>\n"
        '<tr class="baseline"><th scope="row">Untrained</th><td>99.00</td><td>–</td>'
        "<td>-</td></tr>\n"
        '<tr><th scope="row">Margin</th><td class="second">55.00</td><td class="second">2</td>'
        "<td>–</td></tr>\n"
        "</tbody>\n"
        '<tfoot><tr><td colspan="4"><span>One &lt; two.</span></td></tr></tfoot>\n'
        "</table>\n"
    )


def one_column(*values, decimals=2, better="higher"):
    rows = tuple(row(str(index), value) for index, value in enumerate(values))
    column = Column("c", "C", decimals=decimals, better=better)
    table = Table("t", "T", "", "R", (column,), rows)
    return [cells[0][1] for cells in table.texts()]


def test_cells_that_look_equal_are_marked_alike():
    assert one_column(1.001, 1.004, 0.5, 0.4) == ["best", "best", "second", ""]
    assert one_column(3.0, 2.0, 2.0, 1.0) == ["best", "second", "second", ""]


def test_nothing_is_marked_without_competition():
    assert one_column(1.0) == [""]
    assert one_column(1.0, 1.0) == ["", ""]
    assert one_column(1.0, 2.0, better="") == ["", ""]
    assert one_column(1.0, None, math.nan) == ["", "", ""]


def test_a_table_without_groups_has_one_line_of_headers():
    table = Table("t", "T", "C", "R", (Column("c", "C"),), (row("a", 1.0),))
    assert "multicolumn" not in table.to_latex()
    assert "colgroup" not in table.to_html()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"50% of A&B", r"50\% of A\&B"),
        ("a_b^c~d", r"a\_b\textasciicircum{}c\textasciitilde{}d"),
        (r"\sum {x} $y$ #1", r"\textbackslash{}sum \{x\} \$y\$ \#1"),
        ("1 ± 2 ≤ 3 – 4", r"1 $\pm$ 2 $\leq$ 3 -- 4"),
        ("two\nlines", "two lines"),
    ],
)
def test_latex_escapes(text, escaped):
    assert latex_escape(text) == escaped


def test_markdown_escapes():
    assert markdown_escape("a|b *c* _d_ <e> `f` \\") == r"a\|b \*c\* \_d\_ \<e\> \`f\` \\"


def test_write_leaves_the_files_asked_for(table, tmp_path):
    write(table, csv=tmp_path / "a" / "t.csv", md=tmp_path / "a" / "t.md")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["t.csv", "t.md"]
    assert (tmp_path / "a" / "t.md").read_text(encoding="utf-8") == table.to_markdown()


def test_latex_is_typeset(table, tmp_path):
    every = Table(
        id="escapes",
        title="".join(_ESCAPED),
        caption="As they are.",
        row_header="Sign",
        columns=(Column("name", "Name", better=""),),
        rows=tuple(row(sign, f"[{sign}]") for sign in _ESCAPED),
    )
    for each in (table, every):
        (tmp_path / f"{each.id}.tex").write_text(each.to_latex(), encoding="utf-8")
    assert typeset(sorted(tmp_path.glob("*.tex")), tmp_path).exists()
