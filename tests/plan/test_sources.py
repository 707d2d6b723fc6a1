"""Digests of source: code counts; comments, docstrings and annotations do not."""

import shutil
import sys

import pytest
from dmlbench.plan import sources


def forget():
    for cached in (sources._read, sources._files, sources.imported, sources.stage_digest):
        cached.cache_clear()


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A small library instead of the real one."""
    monkeypatch.setattr(sources, "SCRIPTS", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    forget()
    (tmp_path / "dmlbench" / "package").mkdir(parents=True)
    (tmp_path / "dmlbench" / "__init__.py").write_text("")
    (tmp_path / "dmlbench" / "package" / "__init__.py").write_text("")
    (tmp_path / "dmlbench" / "package" / "helper.py").write_text("def two():\n    return 2\n")
    (tmp_path / "dmlbench" / "far.py").write_text("FAR = 1\n")
    (tmp_path / "stage.py").write_text("from dmlbench.package import helper\n")
    yield tmp_path
    forget()


def digest(*, packages=()):
    forget()
    return sources.stage_digest("stage.py", packages=packages)


def test_what_was_parsed_is_not_parsed_again(scripts, monkeypatch):
    before = digest(packages=("dmlbench/package",))
    monkeypatch.setattr(sources, "_parsed", None)
    assert digest(packages=("dmlbench/package",)) == before
    (scripts / "dmlbench" / "package" / "helper.py").write_text("def two():\n    return 3\n")
    with pytest.raises(TypeError):
        digest()


def test_named_queries_of_a_package_count(scripts):
    (scripts / "dmlbench" / "tables").mkdir()
    before = digest(packages=("tables",))
    (scripts / "dmlbench" / "tables" / "queries.yaml").write_text("mine: {part: scores}\n")
    assert digest(packages=("tables",)) != before


@pytest.mark.parametrize("note", ["", "{", "3", "[]", '["another", "digest", []]', "\udc80"])
def test_a_damaged_note_is_only_slower(scripts, note):
    before = digest()
    notes = list(scripts.rglob("*.source.json"))
    assert notes
    for path in notes:
        path.write_bytes(note.encode(errors="surrogateescape"))
    assert digest() == before


def test_no_notes_where_python_writes_no_bytecode(scripts, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    digest()
    assert not list(scripts.rglob("*.source.json"))


def test_a_folder_that_cannot_be_written_is_only_slower(scripts):
    before = digest()
    for folder in list(scripts.rglob("__pycache__")):
        shutil.rmtree(folder)
        folder.write_text("a file is not a folder")
    assert digest() == before


def test_comments_and_docstrings_do_not_count(scripts):
    before = digest()
    (scripts / "dmlbench" / "package" / "helper.py").write_text(
        '"""Helps."""\n\n\ndef two():\n    """Two."""\n    # why\n    return 2\n'
    )
    assert digest() == before


def test_annotations_and_their_imports_do_not_count(scripts):
    helper = scripts / "dmlbench" / "package" / "helper.py"
    helper.write_text(
        "from math import pi\nTWO = 2\ndef two(x, *, y=pi):\n    z = x\n    return z\n"
    )
    before = digest()
    helper.write_text(
        "from math import pi\nfrom typing import Annotated, Literal\nTWO: Literal[2] = 2\n"
        "def two(x: Annotated[int, 'x'], *, y: float = pi) -> int:\n    z: int = x\n    return z\n"
    )
    assert digest() == before
    helper.write_text(
        "from math import e as pi\nTWO = 2\ndef two(x, *, y=pi):\n    z = x\n    return z\n"
    )
    assert digest() != before


def test_annotations_of_fields_count(scripts):
    helper = scripts / "dmlbench" / "package" / "helper.py"
    helper.write_text("class Two(NamedTuple):\n    two: int\n")
    before = digest()
    helper.write_text("class Two(NamedTuple):\n    two: float\n")
    assert digest() != before


def test_names_that_a_package_hands_on_count(scripts):
    package = scripts / "dmlbench" / "package" / "__init__.py"
    package.write_text("from dmlbench.far import FAR\n")
    before = digest(packages=("package",))
    package.write_text("from dmlbench.far import NEAR as FAR\n")
    assert digest(packages=("package",)) != before


def test_imported_code_counts(scripts):
    before = digest()
    (scripts / "dmlbench" / "package" / "helper.py").write_text("def two():\n    return 3\n")
    assert digest() != before


def test_code_that_is_not_imported_does_not_count(scripts):
    before = digest()
    (scripts / "dmlbench" / "far.py").write_text("FAR = 2\n")
    assert digest() == before


def test_code_that_is_imported_inside_a_function_counts(scripts):
    path = scripts / "dmlbench" / "package" / "helper.py"
    path.write_text("def two():\n    from dmlbench.far import FAR\n    return FAR\n")
    before = digest()
    (scripts / "dmlbench" / "far.py").write_text("FAR = 2\n")
    assert digest() != before


def test_a_package_counts_with_all_its_parts(scripts):
    before = digest(packages=("package",))
    (scripts / "dmlbench" / "package" / "another.py").write_text("X = 1\n")
    assert digest(packages=("package",)) != before
