"""A table as Markdown."""

_MARKED = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}


def markdown(table) -> str:
    """The table as a pipe table under its title and caption, columns aligned in the source.

    Each panel is a separate pipe table under its heading.
    """
    heads = [" ".join(filter(None, (c.group, c.header))) for c in table.columns]
    lines = [[escape(head) for head in (table.row_header, *heads)]]
    headings = {}
    for index, (row, cells) in enumerate(zip(table.rows, table.texts(), strict=True)):
        if table.begins_panel(index):
            headings[index + 1] = f"*{escape(row.panel)}*"
        lines.append([escape(row.label)])
        lines[-1] += [_MARKED[mark].format(escape(text)) for text, mark in cells]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    parts = [f"**{escape(table.title)}**", "", escape(table.caption), ""]
    head = [_line(line, widths) for line in (lines[0], rule)]
    parts += [] if headings else head
    for index, line in enumerate(lines[1:], start=1):
        if index in headings:
            parts += ([""] if index > 1 else []) + [headings[index], "", *head]
        parts.append(_line(line, widths))
    if table.notes:
        parts += ["", *(f"- {escape(note)}" for note in table.notes)]
    return "\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text escaped so that Markdown shows it literally, on one line."""
    for character in "\\|*_<>`":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _line(cells: list[str], widths: list[int]) -> str:
    label = cells[0].ljust(widths[0])
    numbers = [text.rjust(width) for text, width in zip(cells[1:], widths[1:], strict=True)]
    return "| " + " | ".join([label, *numbers]) + " |"
