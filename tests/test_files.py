"""Files appear complete or not at all."""

import errno

import pytest
from dmlbench.errors import UserError
from dmlbench.files import atomic_write


def test_a_finished_file_takes_its_name(tmp_path):
    with atomic_write(tmp_path / "folder" / "file") as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "folder" / "file").read_text() == "new"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_alone(tmp_path, error):
    (tmp_path / "file").write_text("old")

    def fail():
        with atomic_write(tmp_path / "file") as unfinished:
            unfinished.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path):
    with pytest.raises(UserError, match="file: the disk is full"), atomic_write(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_another_failure_to_write_is_not_hidden(tmp_path):
    with pytest.raises(PermissionError), atomic_write(tmp_path / "file"):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_writer_leaves_the_partial_file_of_another_alone(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as slow:
        slow.write_text("slow")
        with atomic_write(path) as fast:
            fast.write_text("fast")
        assert path.read_text() == "fast"
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]
