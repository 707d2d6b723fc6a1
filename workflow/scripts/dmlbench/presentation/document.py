"""A study as one LaTeX document: its question, its answer, all of its tables and figures."""

import os
from pathlib import Path

from dmlbench.files import write_text
from dmlbench.presentation._latex import escape
from dmlbench.presentation._templates import link
from dmlbench.presentation.answer import answer
from dmlbench.presentation.study import StudyPage
from dmlbench.presentation.texts import EXPLAINED, REHEARSAL

_HEAD = r"""% pdflatex {name}
\documentclass[a3paper]{{article}}
\usepackage[T1]{{fontenc}}
\usepackage[utf8]{{inputenc}}
\usepackage[margin=2cm]{{geometry}}
\usepackage{{booktabs}}
\usepackage{{graphicx}}
\title{{{title}}}
\author{{dmlbench, study \texttt{{{id}}}}}
\date{{}}
\begin{{document}}
\maketitle
"""

_FIGURE = r"""\begin{{figure}}[p]
\centering
\includegraphics[width=\linewidth,height=0.8\textheight,keepaspectratio]{{{picture}}}
\caption{{{said}}}
\end{{figure}}"""


def write_document(study: StudyPage, output: str | os.PathLike) -> None:
    r"""Write a study as LaTeX that compiles without changes, in its own folder.

    Tables are included; figures are PDF files by relative paths.

    Args:
        study: see `study.StudyPage` for the keys.
        output: the file to write.
    """
    head = _HEAD.format(
        name=Path(output).name, title=escape(study["title"]), id=escape(study["id"])
    )
    parts = [escape(REHEARSAL)] if study["rehearsal"] else []
    parts.append(escape(study["description"]))
    if study["question"]:
        parts.append(rf"\paragraph{{The question.}} {escape(study['question'])}")
    if said := answer(study):
        parts.append(rf"\paragraph{{The answer, from the scores.}} {escape(' '.join(said))}")
    if study["tournament"] is not None:
        parts.append(rf"\paragraph{{Selection.}} {escape(EXPLAINED[study['selection']])}")
    for table in study["tables"]:
        parts.append(Path(table["tex"]).read_text(encoding="utf-8").rstrip("\n") + "\n\\clearpage")
    for figure in study["figures"]:
        said = escape(f"{figure['title']}. {figure['caption']}")
        parts.append(_FIGURE.format(picture=link(figure["pdf"], output), said=said))
    write_text(output, head + "\n\n".join([*parts, "\\end{document}\n"]))
