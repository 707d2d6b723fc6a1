"""A study as one LaTeX document."""

import re
import shutil
import subprocess

import pytest
from dmlbench.presentation.document import write_document
from invented import invent


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The document of a study with invented scores, tables and a figure of everything."""
    folder = tmp_path_factory.mktemp("results")
    invent("karaman2021_omniglot", folder, queries=12)
    return folder / "studies" / "karaman2021_omniglot" / "study.tex"


@pytest.mark.slow
def test_the_document_is_whole(document):
    text = document.read_text()
    bare = re.sub(r"\\\\.|\\[{}&%$#_]|%.*", "", text.replace(r"\\", "\n"))
    assert bare.count("{") == bare.count("}")
    begun, stack = re.findall(r"\\(begin|end){(\w+)}", text), []
    for word, environment in begun:
        if word == "begin":
            stack.append(environment)
        else:
            assert stack.pop() == environment
    assert stack == []
    first = text.count(r"\begin{table}") - text.count("(continued)}")
    assert first == len(list(document.parent.glob("tables/*.tex")))
    pictures = re.findall(r"\\includegraphics\[[^]]*\]{([^}]*)}", text)
    assert len(pictures) == 2
    assert all((document.parent / picture).is_file() for picture in pictures)
    labels = re.findall(r"\\label{([^}]*)}", text)
    assert len(labels) == len(set(labels))
    assert "The answer, from the scores." in text


@pytest.mark.slow
def test_what_latex_cannot_print_is_not_in_it(document):
    """pdflatex knows these letters without further packages."""
    known = set("äöüéèçñšžřáíóÅøæßœž§©°²³µ¿¡«»’‘“”…") | {chr(code) for code in range(128)}
    assert set(document.read_text()) <= known


def test_letters_of_latex_in_words_of_a_study_are_escaped(study):
    words = {"title": "A & B", "description": "50 %", "question": "Which_loss?"}
    write_document(study | words, study["document"])
    text = study["document"].read_text()
    assert [word for word in (r"A \& B", r"50 \%", r"Which\_loss?") if word not in text] == []
    assert [word for word in words.values() if word in text] == []


@pytest.mark.slow
def test_latex_compiles_it(document):
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex here (Debian: texlive-latex-recommended)")
    call = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", document.name]
    done = subprocess.run(call, cwd=document.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
