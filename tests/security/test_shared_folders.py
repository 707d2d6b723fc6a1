"""In a folder of several users, no file outside of it is opened through what another user put."""

import os
import stat
from pathlib import Path

import pytest
from dmlbench import provenance
from dmlbench.errors import UserError
from dmlbench.provenance import Record
from dmlbench.results_lock import at_work, claim
from dmlbench.search.storage import open_study

PRECIOUS = "precious\n" * 3


def record(folder: Path) -> None:
    provenance.write(Record("table", {"a.csv": "0"}, {}, "", ""), folder)


def work(folder: Path) -> None:
    with at_work(folder):
        pass


def search(folder: Path) -> None:
    open_study(folder, "toy")


WRITERS = {
    ".claimed": claim,
    ".jobs": work,
    provenance.FILE: record,
    "journal.log": search,
    "journal.length": search,
    "locks/journal": search,
}


@pytest.fixture
def private(tmp_path):
    """A private file of the user who runs next."""
    path = tmp_path / "home" / "notes.txt"
    path.parent.mkdir()
    path.write_text(PRECIOUS)
    path.chmod(0o600)
    return path


@pytest.fixture
def folder(tmp_path):
    """A group's folder of results."""
    path = tmp_path / "results"
    (path / "locks").mkdir(parents=True)
    path.chmod(0o775)
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_no_link_is_followed(folder, private, name):
    (folder / name).symlink_to(private)
    with pytest.raises(UserError, match=f"{name}: a link, or no plain file; remove it"):
        WRITERS[name](folder)
    assert private.read_text() == PRECIOUS
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", [".claimed", ".jobs"])
def test_a_second_name_of_a_private_file_stays_private(folder, private, name):
    os.link(private, folder / name)
    WRITERS[name](folder)
    assert private.read_text() == PRECIOUS
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir])
def test_what_is_no_file_ends_in_one_line(folder, name, put):
    put(folder / name)
    with pytest.raises(UserError, match=f"{name}: a link, or no plain file; remove it"):
        WRITERS[name](folder)


@pytest.mark.parametrize("name", WRITERS)
def test_whoever_may_write_to_the_folder_may_write_to_its_files(folder, name):
    (folder / "locks").chmod(0o775)
    before = os.umask(0o022)
    try:
        WRITERS[name](folder)
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o664
