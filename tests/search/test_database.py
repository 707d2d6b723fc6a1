"""Searches whose trials are in a database."""

import pytest
from dmlbench.errors import UserError
from dmlbench.search.storage import DATABASE, _without_secrets, open_study
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
    ("url", "reason"),
    [
        ("postgresql+psycopg://me:secret@localhost:1/none", "connection"),
        ("nonsense", "Could not parse"),
        ("no+such://me:secret@host/name", "no.such"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_line_without_the_password(
    tmp_path, monkeypatch, url, reason
):
    monkeypatch.setenv(DATABASE, url)
    with pytest.raises(UserError, match=f"^the database of searches, .*cannot be.*{reason}") as e:
        search(tmp_path / "searches" / "one" / "state", "random", budget=1)
    assert "\n" not in str(e.value)
    assert "secret" not in str(e.value)


@pytest.mark.parametrize(
    "login",
    [
        "//me:secret@localhost:1/none",
        "//:secret@localhost:1/none",
        "//me:secret@secret@localhost:1/none",
        "//me:secret/secret@localhost:1/none",
        "//me:sec%72et@localhost:1/none",
        "//me:secret?x@localhost:1/none",
        "//localhost:1/none?user=me&password=secret",
        "//localhost:1/none?password=secret@secret",
        "//me@localhost:1/none?sslpassword=secret&connect_timeout=1",
    ],
)
@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "no+such", "postgresql"])
def test_no_form_of_a_password_is_shown(tmp_path, monkeypatch, scheme, login):
    monkeypatch.setenv(DATABASE, f"{scheme}:{login}")
    with pytest.raises(UserError) as error:
        open_study(tmp_path / "searches" / "one" / "state", "a search")
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("said", ["at secret failed", "password=secret", "host 'b@secret' for me"])
@pytest.mark.parametrize("url", ["a://me:b@secret@host/c", "a://host/c?password=secret"])
def test_what_a_driver_says_of_a_password_is_removed(url, said):
    assert "secret" not in _without_secrets(said, url)
    assert _without_secrets("connection to host refused for me", url) == (
        "connection to host refused for me"
    )
