"""A table as LaTeX."""

import itertools

_MARKED = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}

_WIDEST, _TALLEST = 345, 45
"""Points of a line and lines of a page of the class `article`, at 10 points."""

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
    shrunk to it. Widths are estimates: no font is read.
    """
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{escape(f'{table.title}. {table.caption}')}}}",
        rf"\label{{tab:{table.id}}}",
    ]
    texts = table.texts()
    for number, part in enumerate(_parts(table, texts)):
        lines += [r"\par\medskip"] if number else []
        lines += [
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            *_tabular(table, texts, part),
            "}",
        ]
    lines += [rf"\par\smallskip{{\footnotesize {escape(note)}}}" for note in table.notes]
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text escaped so that LaTeX prints it literally, on one line."""
    return " ".join("".join(_ESCAPED.get(character, character) for character in text).split())


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


def _tabular(table, texts: list[list[tuple[str, str]]], part: list[int]) -> list[str]:
    """The lines of a `tabular` of some of the columns."""
    columns = [table.columns[place] for place in part]
    runs = itertools.groupby(column.group for column in columns)
    lines = [rf"\begin{{tabular}}{{l{'r' * len(part)}}}", r"\toprule"]
    lines += _group_headers([(group, len(list(run))) for group, run in runs])
    lines.append(_line([table.row_header, *(column.header for column in columns)]))
    lines.append(r"\midrule")
    for index, (row, cells) in enumerate(zip(table.rows, texts, strict=True)):
        if table.begins_panel(index):
            lines += [r"\midrule"] if index else []
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
