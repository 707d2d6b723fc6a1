"""A table as LaTeX."""

import itertools

_MARKED = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}

_WIDE = 9
"""Number of columns from which a table needs a small font to fit a page."""

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
    """The table as a floating `table` around a booktabs `tabular`, with caption and label."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[t]",
        r"\centering",
        *([r"\scriptsize", r"\setlength{\tabcolsep}{2.5pt}"] if len(table.columns) > _WIDE else []),
        rf"\caption{{{escape(f'{table.title}. {table.caption}')}}}",
        rf"\label{{tab:{table.id}}}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
    ]
    lines += _group_headers(table.groups())
    lines.append(_line([table.row_header, *(column.header for column in table.columns)]))
    lines.append(r"\midrule")
    for index, (row, cells) in enumerate(zip(table.rows, table.texts(), strict=True)):
        if table.begins_panel(index):
            lines += [r"\midrule"] if index else []
            heading = rf"\textit{{{escape(row.panel)}}}"
            lines.append(rf"\multicolumn{{{len(table.columns) + 1}}}{{l}}{{{heading}}} \\")
        if table.begins_baselines(index):
            lines.append(r"\midrule")
        marked = [_MARKED[mark] % escape(text) for text, mark in cells]
        lines.append(" & ".join([escape(row.label), *marked]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {escape(note)}}}" for note in table.notes]
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text escaped so that LaTeX prints it literally, on one line."""
    return " ".join("".join(_ESCAPED.get(character, character) for character in text).split())


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
