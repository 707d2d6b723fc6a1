"""A table as HTML."""

from html import escape


def html(table) -> str:
    """The table as one `<table>` element, its caption inside, headers with scopes."""
    lines = ["<table>"]
    lines.append(
        f"<caption><span><strong>{escape(table.title)}.</strong> {escape(table.caption)}"
        "</span></caption>"
    )
    lines.append("<thead>")
    if any(text for text, _ in table.groups()):
        spans = "".join(_group(text, width) for text, width in table.groups())
        lines.append(f"<tr><td></td>{spans}</tr>")
    heads = [table.row_header, *(column.header for column in table.columns)]
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    lines += [f"<tr>{heads}</tr>", "</thead>", "<tbody>"]
    for index, (row, cells) in enumerate(zip(table.rows, table.texts(), strict=True)):
        if table.begins_panel(index):
            heading = f'<th colspan="{len(table.columns) + 1}" scope="rowgroup">'
            lines.append(f'<tr class="panel">{heading}<span>{escape(row.panel)}</span></th></tr>')
        begins = ' class="baseline"' if table.begins_baselines(index) else ""
        cells = "".join(_cell(text, mark) for text, mark in cells)
        lines.append(f'<tr{begins}><th scope="row">{escape(row.label)}</th>{cells}</tr>')
    lines.append("</tbody>")
    if table.notes:
        notes = "<br>".join(escape(note) for note in table.notes)
        width = len(table.columns) + 1
        lines.append(f'<tfoot><tr><td colspan="{width}"><span>{notes}</span></td></tr></tfoot>')
    lines.append("</table>")
    return "\n".join(lines) + "\n"


def _group(text: str, width: int) -> str:
    if not text:
        return f'<td colspan="{width}"></td>'
    return f'<th colspan="{width}" scope="colgroup">{escape(text)}</th>'


def _cell(text: str, mark: str) -> str:
    return f'<td class="{mark}">{escape(text)}</td>' if mark else f"<td>{escape(text)}</td>"
