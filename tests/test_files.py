"""Files appear complete or not at all."""

import contextlib
import errno
import os
import resource

import pyarrow as pa
import pytest
from dmlbench import provenance
from dmlbench.errors import DamagedError, UserError
from dmlbench.files import atomic_write
from dmlbench.parquet import read_metadata, write_table


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


@pytest.fixture
def no_more_files():
    """A function after which this process cannot open a file."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as held:

        def begin():
            held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
            used = max(map(int, os.listdir("/proc/self/fd")))
            resource.setrlimit(resource.RLIMIT_NOFILE, (used, limits[1]))
            with contextlib.suppress(OSError):
                while True:
                    held.enter_context(open(os.devnull))

        yield begin


@pytest.mark.parametrize("name", ["file", provenance.FILE])
def test_a_limit_of_open_files_is_no_damage(tmp_path, no_more_files, name):
    """What is called damaged is removed."""
    write_table(pa.table({"a": [1]}), tmp_path / "file")
    if name != "file":
        digests = {"file": provenance.digest(tmp_path / "file")}
        provenance.write(provenance.Record("rule", digests, {}, "", ""), tmp_path)
    no_more_files()
    with pytest.raises(UserError, match=f"/{name}: too many files are open") as found:
        read_metadata(tmp_path / "file")
    assert not isinstance(found.value, DamagedError)


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
