"""One call at a time in a results folder, of any user, and no job of a killed call besides."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from dmlbench import locks, results_lock
from dmlbench.errors import UserError
from dmlbench.results_lock import at_work, claim, claimed_by

SCRIPTS = Path(results_lock.__file__).resolve().parents[1]
AS_USER = """
import os, socket, sys
from dmlbench.results_lock import at_work, claim, claimed_by
from dmlbench.errors import UserError
user, code, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if user:
    os.setgroups([1500]); os.setgid(1500); os.setuid(user)
os.umask(0o022)
try:
    exec(code)
except UserError as error:
    print(error, flush=True)
"""
CLAIM = "claim(folder); print('claimed', flush=True); sys.stdin.read()"
WORK = "with at_work(folder): print('works', flush=True); sys.stdin.read()"


def start(code, folder, user=0):
    """A process of a user that has printed its first line, and the line."""
    process = subprocess.Popen(
        [sys.executable, "-c", AS_USER, str(user), code, str(folder)],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, process.stdout.readline().strip()


def end(process):
    process.kill()
    process.communicate()


@pytest.fixture
def two_users():
    """A folder that a group shares, outside of the folders of tests, which only root may enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as two users")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, -1, 1500)
        folder.chmod(0o2775)
        yield folder


def test_a_second_user_is_kept_out_until_the_first_has_ended(two_users):
    first, said = start(CLAIM, two_users, 1001)
    assert said == "claimed"
    second, said = start(CLAIM, two_users, 1002)
    assert f"snakemake (process {first.pid}" in said
    assert "is at work here" in said
    end(first)
    third, said = start(CLAIM, two_users, 1002)
    assert said == "claimed"
    end(second)
    end(third)


@pytest.mark.parametrize("at_work_now", [True, False])
def test_a_claim_that_cannot_be_opened_is_no_free_folder(two_users, at_work_now):
    first, _ = start(CLAIM, two_users, 1001)
    (two_users / ".claimed").chmod(0o644)
    if not at_work_now:
        end(first)
    second, said = start(CLAIM, two_users, 1002)
    assert ("is at work here" if at_work_now else "is another user's and cannot be") in said
    end(first)
    end(second)


def test_a_folder_that_cannot_be_written_to_is_named(two_users):
    two_users.chmod(0o750)
    second, said = start(CLAIM, two_users, 1002)
    end(second)
    assert said.startswith(f"{two_users}: this user cannot write to it")


def test_a_claim_that_cannot_be_read_is_perhaps_another_user(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(path)

    monkeypatch.setattr(locks, "is_held", refused)
    assert claimed_by(tmp_path) == "perhaps another user"


def test_a_job_of_a_killed_call_is_still_at_work(tmp_path):
    job, _ = start(WORK, tmp_path)
    other, _ = start(WORK, tmp_path)
    with pytest.raises(
        UserError, match=f"a job of a call that was killed .*{job.pid}.* is at work"
    ):
        claim(tmp_path)
    end(job)
    end(other)
    call, said = start(CLAIM, tmp_path)
    assert said == "claimed"
    # A job of the call itself.
    with at_work(tmp_path):
        assert claimed_by(tmp_path).startswith(f"snakemake (process {call.pid}")
    end(call)


def test_without_locks_or_permission_jobs_run_all_the_same(tmp_path, monkeypatch):
    with at_work(tmp_path / "nowhere"):
        pass

    def none(*_):
        raise OSError("no locks")

    monkeypatch.setattr(results_lock.fcntl, "flock", none)
    with at_work(tmp_path):
        claim(tmp_path)
