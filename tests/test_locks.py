"""Locks have one holder at a time, and are free once it has ended, no matter how."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench import locks

SCRIPTS = Path(locks.__file__).resolve().parents[1]
HOLDER = """
import sys
from dmlbench import locks
with locks.held(__import__("pathlib").Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
WAITER = """
import sys
from pathlib import Path
from dmlbench import locks
print("here", flush=True)
descriptor = locks.acquire(Path(sys.argv[1]))
print("mine", flush=True)
"""


def start(code, path):
    """A process that has printed its first word."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, path],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    return process


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "lock"


@pytest.fixture
def holder(path):
    process = start(HOLDER, path)
    with process:
        yield process
        process.kill()


def test_a_lock_is_taken_once_and_again_when_it_is_given_back(path):
    first = locks.try_acquire(path)
    assert first is not None
    assert locks.try_acquire(path) is None
    os.close(first)
    with locks.held(path):
        assert locks.try_acquire(path) is None
    locks.wait_until_free(path)
    os.close(locks.acquire(path))


def test_a_killed_holder_leaves_no_lock(path, holder):
    assert locks.try_acquire(path) is None
    holder.send_signal(signal.SIGKILL)
    locks.wait_until_free(path)
    assert locks.try_acquire(path) is not None


def test_who_waits_gets_the_lock_once_it_is_free(path, holder):
    waiter = start(WAITER, path)
    assert waiter.poll() is None
    holder.stdin.close()
    assert waiter.communicate()[0] == "mine\n"


def test_a_file_removed_while_waiting_does_not_make_two_holders(path, monkeypatch):
    """The file is removed, and made again by another holder, between opening and locking it."""
    flock, others = locks.fcntl.flock, []

    def after_a_cleaner(descriptor, operation):
        if not others:
            path.unlink()
            others.append(None)
            others.append(locks.acquire(path))
        flock(descriptor, operation)

    monkeypatch.setattr(locks.fcntl, "flock", after_a_cleaner)
    assert locks.try_acquire(path) is None
    os.close(others[1])
    assert locks.try_acquire(path) is not None


def test_a_removed_file_is_made_again(path, monkeypatch):
    flock, removed = locks.fcntl.flock, []

    def after_a_cleaner(descriptor, operation):
        if not removed:
            removed.append(path.unlink())
        flock(descriptor, operation)

    monkeypatch.setattr(locks.fcntl, "flock", after_a_cleaner)
    assert locks.try_acquire(path) is not None
    assert path.exists()
    assert locks.try_acquire(path) is None


def test_a_file_system_without_locks_is_an_error_and_leaves_no_descriptor(path, monkeypatch):
    opened = []

    def unsupported(descriptor, operation):
        opened.append(descriptor)
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(locks.fcntl, "flock", unsupported)
    for take in (locks.try_acquire, locks.acquire):
        with pytest.raises(OSError, match="not implemented"):
            take(path)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(opened[-1])
