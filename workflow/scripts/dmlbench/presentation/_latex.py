"""A table as LaTeX."""

import itertools
from collections.abc import Sequence

_MARKED = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}

_WIDEST, _TALLEST = 345, 45
"""Points of a line and lines of a page of the class `article`, at 10 points."""
_ROWS = 37
"""Rows and headings of panels on a page; the other lines are caption, head and notes."""

_NARROW, _BROAD = frozenset(" .,:;'|!()[]-fijlt1I"), frozenset("MWmw±−≥≤×%@")
_GAP = 12
"""Points between two columns."""

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "†": r"\textdagger{}",
    "–": "--",
    "—": "---",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "τ": r"$\tau$",
}


def latex(table) -> str:
    r"""The table as a floating `table` around booktabs, with caption and label.

    One that is wider than a line is split at its groups of columns, each part with all rows below
    the one before; what is still wider than the line that it is in, such as a narrow column's, is
    shrunk to it. One that is taller than a page is continued in further floats. Widths are
    estimates: no font is read.
    """
    lines, texts = [r"% needs \usepackage{booktabs,graphicx}"], table.texts()
    parts, pages = _parts(table, texts), _pages(table)
    for place, rows in enumerate(pages):
        caption = f"{table.title} (continued)" if place else f"{table.title}. {table.caption}"
        lines += [r"\begin{table}[t]", r"\centering", rf"\caption{{{escape(caption)}}}"]
        lines += [] if place else [rf"\label{{tab:{table.id}}}"]
        for number, part in enumerate(parts):
            lines += [r"\par\medskip"] if number else []
            lines += _shrunk(table, texts, part, rows)
        lines += _notes(table) if rows is pages[-1] else []
        lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def side_by_side(title: str, tables: Sequence) -> str:
    """Tables of one form as a floating `table` with one caption, each shrunk to its share of it."""
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table}[p]",
        rf"\caption{{{escape(title)}}}",
    ]
    for table in tables:
        columns, rows = list(range(len(table.columns))), range(len(table.rows))
        lines += [
            rf"\begin{{minipage}}[t]{{{0.98 / len(tables):.3f}\linewidth}}\centering",
            rf"\textit{{{escape(table.title)}}}\par\smallskip",
            *_shrunk(table, table.texts(), columns, rows),
            *_notes(table),
            r"\end{minipage}\hfill",
        ]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _shrunk(
    table, texts: list[list[tuple[str, str]]], part: list[int], rows: Sequence[int]
) -> list[str]:
    """A `tabular` of some columns and rows, not wider than the line that it is in."""
    return [
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        *_tabular(table, texts, part, rows),
        "}",
    ]


def _notes(table) -> list[str]:
    return [rf"\par\smallskip{{\footnotesize {escape(note)}}}" for note in table.notes]


def escape(text: str) -> str:
    """Text escaped so that LaTeX prints it literally, on one line."""
    return " ".join("".join(_ESCAPED.get(character, character) for character in text).split())


def _pages(table) -> list[list[int]]:
    """Places of the rows of each page: as many panels as fit, and of a taller one as many rows."""
    panels = [
        [place for place, _ in rows]
        for _, rows in itertools.groupby(enumerate(table.rows), key=lambda each: each[1].panel)
    ]
    pages, free = [[]], _ROWS
    for panel in panels:
        for start in range(0, len(panel), _ROWS - 1):
            rows = panel[start : start + _ROWS - 1]
            if pages[-1] and len(rows) + 1 > free:
                pages, free = [*pages, []], _ROWS
            pages[-1] += rows
            free -= len(rows) + 1
    return pages


def _parts(table, texts: list[list[tuple[str, str]]]) -> list[list[int]]:
    """Places of the columns of each part: as few parts as fit into a line, groups kept together."""
    label = max(map(_width, [table.row_header, *(row.label for row in table.rows)]))
    places, groups = itertools.count(), []
    for text, count in table.groups():
        group = list(itertools.islice(places, count))
        groups += [group] if text else [[place] for place in group]
    parts, free = [[]], _WIDEST - label
    for group in groups:
        wide = sum(
            _GAP
            + max(map(_width, [table.columns[place].header, *(row[place][0] for row in texts)]))
            for place in group
        )
        if parts[-1] and wide > free:
            parts, free = [*parts, []], _WIDEST - label
        parts[-1] += group
        free -= wide
    fits = len(parts) * (len(table.rows) + 4) <= _TALLEST
    return parts if fits else [list(itertools.chain.from_iterable(parts))]


def _width(text: str) -> float:
    """Points of a text at 10 points of Computer Modern, about."""
    return sum(
        3 if sign in _NARROW else 8 if sign in _BROAD else 7 if sign.isupper() else 5
        for sign in text
    )


def _tabular(
    table, texts: list[list[tuple[str, str]]], part: list[int], places: Sequence[int]
) -> list[str]:
    """The lines of a `tabular` of some of the columns and rows."""
    columns = [table.columns[place] for place in part]
    runs = itertools.groupby(column.group for column in columns)
    lines = [rf"\begin{{tabular}}{{l{'r' * len(part)}}}", r"\toprule"]
    lines += _group_headers([(group, len(list(run))) for group, run in runs])
    lines.append(_line([table.row_header, *(column.header for column in columns)]))
    lines.append(r"\midrule")
    for index in places:
        row, cells = table.rows[index], texts[index]
        if row.panel and (index == places[0] or table.begins_panel(index)):
            lines += [r"\midrule"] if index != places[0] else []
            heading = rf"\textit{{{escape(row.panel)}}}"
            lines.append(rf"\multicolumn{{{len(part) + 1}}}{{l}}{{{heading}}} \\")
        if table.begins_baselines(index):
            lines.append(r"\midrule")
        marked = [_MARKED[mark] % escape(text) for text, mark in (cells[place] for place in part)]
        lines.append(" & ".join([escape(row.label), *marked]) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _group_headers(groups: list[tuple[str, int]]) -> list[str]:
    if not any(text for text, _ in groups):
        return []
    spans = [rf"\multicolumn{{{width}}}{{c}}{{{escape(text)}}}" for text, width in groups]
    starts = itertools.accumulate((width for _, width in groups), initial=2)
    rules = [
        rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
        for start, (text, width) in zip(starts, groups, strict=False)
        if text
    ]
    return [" & ".join(["", *spans]).strip() + r" \\", " ".join(rules)]


def _line(texts: list[str]) -> str:
    return " & ".join(map(escape, texts)) + r" \\"
