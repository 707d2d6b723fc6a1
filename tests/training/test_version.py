"""The code of training, of data and of each part changes together with its version."""

import json

import pytest
import record_sources
from record_sources import LIBRARY, RECORD, complaints, module_digest, records


def test_changed_code_is_declared():
    found = complaints(json.loads(RECORD.read_text()), records())
    assert not found, "\n".join(found)


def changed_with(monkeypatch, path: str) -> list[str]:
    """The entries with complaints when one file of the library changes."""
    before = records()
    monkeypatch.setattr(
        record_sources,
        "module_digest",
        lambda file: "changed" if file == LIBRARY / path else module_digest(file),
    )
    found = complaints(before, records())
    assert all(f"{path} changed" in line for line in found)
    return [line.partition(":")[0] for line in found]


@pytest.mark.parametrize(
    ("path", "entries"),
    [
        ("losses/margin.py", ["losses/margin"]),
        ("losses/n_pair_per_pair.py", ["losses/angular", "losses/n_pair_per_pair"]),
        ("samplers/profs.py", ["samplers/profs", "samplers/profs_hncm"]),
        ("regularizers/_switch.py", ["regularizers/rho", "regularizers/rho_anchor"]),
        ("networks/backbones/convnet.py", ["backbones/convnet"]),
        ("data/layouts/sop.py", ["layouts/sop"]),
        ("data/splits/half.py", ["splits/half"]),
        ("data/generators/_characters.py", ["generators/glyphs"]),
        ("data/archives.py", ["data"]),
        ("data/pack.py", ["data"]),
        ("tuples.py", ["training"]),
        ("training/loop.py", ["training"]),
        ("evaluation/retrieval.py", ["training"]),
        ("evaluation/clustering.py", ["training"]),
        ("registry.py", []),
        ("presentation/table.py", []),
    ],
)
def test_a_change_asks_for_the_versions_of_what_uses_it(monkeypatch, path, entries):
    assert (LIBRARY / path).is_file()
    assert changed_with(monkeypatch, path) == entries


def test_a_changed_helper_asks_for_each_part_that_uses_it(monkeypatch):
    users = [
        f"losses/{file.stem}"
        for file in sorted((LIBRARY / "losses").glob("[a-z]*.py"))
        if "from dmlbench.losses._margin import" in file.read_text()
    ]
    assert len(users) > 1
    assert changed_with(monkeypatch, "losses/_margin.py") == users


def test_a_raised_version_is_to_be_recorded():
    before = {"losses/margin": {"version": 1, "sources": {"losses/margin.py": "a"}}}
    after = {"losses/margin": {"version": 2, "sources": {"losses/margin.py": "b"}}}
    assert complaints(before, after) == [
        "losses/margin has another VERSION than recorded: make record-training"
    ]
    assert complaints({}, after) == ["losses/margin is new: make record-training"]
    assert complaints(before, {}) == ["losses/margin is gone: make record-training"]


def test_the_file_with_the_version_is_named():
    before = {"splits/half": {"version": 1, "sources": {"data/splits/half.py": "a"}}}
    after = {"splits/half": {"version": 1, "sources": {"data/splits/half.py": "b"}}}
    (line,) = complaints(before, after)
    assert "raise VERSION in dmlbench/data/splits/half.py;" in line
