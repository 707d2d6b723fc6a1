"""Searches whose trials are in a database."""

import pytest
from dmlbench.errors import UserError
from dmlbench.search.storage import DATABASE
from toy_search import search


@pytest.fixture
def database(tmp_path, monkeypatch):
    path = tmp_path / "searches.db"
    monkeypatch.setenv(DATABASE, f"sqlite:///{path}")
    return path


def outcome(folder):
    trials, _ = search(folder, "random", budget=12)
    return [(trial.number, trial.params, trial.value) for trial in trials.get()]


def test_a_search_finds_the_same_as_in_its_journal(tmp_path, monkeypatch):
    expected = outcome(tmp_path / "searches" / "one" / "journal")
    monkeypatch.setenv(DATABASE, f"sqlite:///{tmp_path / 'searches.db'}")
    assert outcome(tmp_path / "searches" / "one" / "database") == expected
    assert not (tmp_path / "searches" / "one" / "database" / "journal.log").exists()


def test_it_continues_there(tmp_path, database):
    folder = tmp_path / "searches" / "one" / "state"
    _, objective = search(folder, "random", budget=5)
    assert len(objective.evaluated) == 5
    second, objective = search(folder, "random", budget=12)
    assert len(second.get()) == 12
    assert len(objective.evaluated) == 7


def test_equal_searches_of_two_results_folders_have_trials_of_their_own(tmp_path, database):
    for results in ("mine", "yours"):
        _, objective = search(tmp_path / results / "one" / "state", "random", budget=4)
        assert len(objective.evaluated) == 4


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:secret@localhost:1/none",
        "postgresql+psycopg://localhost:1/none?password=secret@secret",
        "postgresql://me:secret@localhost:1/none",
        "no+such://me:secret/secret@host/name",
        "secret",
    ],
)
def test_a_database_that_cannot_be_opened_is_one_line_without_the_password(
    tmp_path, monkeypatch, url
):
    monkeypatch.setenv(DATABASE, url)
    with pytest.raises(
        UserError, match=r"^the database of searches \(.*\) cannot be.*Error; "
    ) as e:
        search(tmp_path / "searches" / "one" / "state", "random", budget=1)
    assert "\n" not in str(e.value)
    assert "secret" not in str(e.value)
