"""A slot on a GPU has one owner at a time, whichever process is killed; devices are simulated."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from dmlbench.errors import UserError
from dmlbench.training import gpus
from dmlbench.training.gpus import gpu_lease, share_of_a_gpu

SCRIPTS = Path(gpus.__file__).resolve().parents[2]


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    """A machine with the GPUs `a` and `b`, and no other process on it."""
    monkeypatch.setattr(gpus, "LEASES", tmp_path)
    monkeypatch.setenv("DMLBENCH_GPUS", "a,b")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def ledger(tmp_path):
    """Where owners of leases register themselves; the file `enough` ends them."""
    folder = tmp_path / "ledger"
    folder.mkdir()
    yield folder
    (folder / "enough").touch()


class WaitedError(Exception):
    """Raised instead of a pause."""


@pytest.fixture
def no_waiting(monkeypatch):
    def sleep(seconds):
        raise WaitedError

    monkeypatch.setattr(gpus.time, "sleep", sleep)


def test_a_lease_shows_one_gpu_and_is_given_back(two_gpus):
    with gpu_lease("auto") as name:
        assert name == os.environ["CUDA_VISIBLE_DEVICES"] == "a"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_jobs_that_share_a_gpu_know_their_share(two_gpus):
    with gpu_lease("auto", 4):
        assert share_of_a_gpu() == 0.25
    assert share_of_a_gpu() == 1


def taken(leases, runs_per_gpu):
    """Another lease, as another process would take it: without the environment of earlier ones."""
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    return leases.enter_context(gpu_lease("cuda", runs_per_gpu))


@pytest.mark.parametrize(("runs_per_gpu", "expected"), [(1, "ab"), (2, "abab"), (3, "ababab")])
def test_runs_are_spread_before_they_are_packed(two_gpus, no_waiting, runs_per_gpu, expected):
    with contextlib.ExitStack() as leases:
        assert "".join(taken(leases, runs_per_gpu) for _ in expected) == expected
        with pytest.raises(WaitedError):
            taken(leases, runs_per_gpu)


def test_jobs_that_pack_differently_share_a_machine(two_gpus, no_waiting):
    with contextlib.ExitStack() as leases:
        assert [taken(leases, 2) for _ in range(3)] == ["a", "b", "a"]
        with pytest.raises(WaitedError):
            taken(leases, 1)
        assert taken(leases, 2) == "b"
        with pytest.raises(WaitedError):
            taken(leases, 2)
        assert taken(leases, 3) == "a"


def test_a_job_gets_several_gpus_at_once_or_waits(two_gpus, no_waiting):
    with gpu_lease("cuda", 2, 2) as names:
        assert names == "a,b"
        with contextlib.ExitStack() as leases:
            assert taken(leases, 2) == "a"
            os.environ.pop("CUDA_VISIBLE_DEVICES")
            with pytest.raises(WaitedError), gpu_lease("cuda", 2, 2):
                pass
            assert taken(leases, 2) == "b"  # which the one that waits has left free
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    with pytest.raises(UserError, match="gpus: 3; allowed: up to 2"), gpu_lease("cuda", 1, 3):
        pass


def test_a_waiting_job_says_so_once_and_continues(two_gpus, monkeypatch, capsys):
    leases = contextlib.ExitStack()
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            leases.close()

    monkeypatch.setattr(gpus.time, "sleep", sleep)
    for _ in range(2):
        taken(leases, 1)
    with contextlib.ExitStack() as late:
        assert taken(late, 1) == "a"
    assert pauses == [gpus.PAUSE] * 3
    assert capsys.readouterr().err == "waiting for a GPU: all taken of 2 x 1 slots on a, b\n"


def test_a_number_and_a_name_of_one_gpu_share_its_slot(two_gpus, no_waiting, monkeypatch):
    with gpu_lease("auto") as name:
        assert name == "a"
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
        with pytest.raises(WaitedError), gpu_lease("auto"):
            pass
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
        with gpu_lease("auto") as other:
            assert other == os.environ["CUDA_VISIBLE_DEVICES"] == "1"
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"


@pytest.mark.parametrize(("device", "installed"), [("cpu", "a,b"), ("auto", "")])
def test_without_a_gpu_there_is_no_lease(two_gpus, monkeypatch, tmp_path, device, installed):
    monkeypatch.setenv("DMLBENCH_GPUS", installed)
    with gpu_lease(device) as name:
        assert name is None
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
    assert list(tmp_path.iterdir()) == []


HOLDER = """
    import sys
    from dmlbench.training import gpus
    gpus.LEASES = gpus.Path(sys.argv[1])
    with gpus.gpu_lease("cuda") as name:
        print(name, flush=True)
        sys.stdin.readline()
"""


def test_jobs_with_other_temporary_folders_share_the_leases(two_gpus, tmp_path):
    holders = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        own = {"PYTHONPATH": str(SCRIPTS), "TMPDIR": str(tmp_path / folder)}
        holders.append(
            subprocess.Popen(
                [sys.executable, "-S", "-c", textwrap.dedent(HOLDER), str(tmp_path)],
                env=os.environ | own,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    names = [holder.stdout.readline().strip() for holder in holders]
    for holder in holders:
        holder.communicate("\n")
    assert sorted(names) == ["a", "b"]


def test_a_lock_file_that_was_cleaned_away_is_made_again(two_gpus, no_waiting, tmp_path):
    with gpu_lease("auto"):
        pass
    for path in tmp_path.rglob("*.0"):
        path.unlink()
    with contextlib.ExitStack() as leases:
        assert [taken(leases, 1) for _ in range(2)] == ["a", "b"]


def test_a_folder_that_someone_else_put_there_is_refused(two_gpus, tmp_path):
    with gpu_lease("auto"):
        pass
    (folder,) = tmp_path.iterdir()
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises(UserError, match="belongs to another user"), gpu_lease("auto"):
        pass


# A job that takes leases repeatedly. While it is an owner it registers itself in the ledger, and
# checks that there are not more owners than slots. Some of the registered owners may have been
# killed and not be dead yet; if another process removes this job's note, it was an owner at the
# same time.
JOB = """
    import atexit, os, random, sys, time
    from pathlib import Path
    from dmlbench.training import gpus

    gpus.PAUSE = 0.002
    gpus.LEASES, ledger, slots = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])

    def is_dead(pid):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        return state in "ZX"

    # However it ends, if it is not killed.
    atexit.register(os.write, 1, b".")
    is_last = False
    while not is_last:
        is_last = (ledger / "enough").exists()
        with gpus.gpu_lease("cuda", slots) as gpu:
            own = ledger / gpu / str(os.getpid())
            own.touch()
            patience = time.monotonic() + 30
            owners = set(own.parent.iterdir()) - {own}
            while len(owners := {note for note in owners if not is_dead(note.name)}) >= slots:
                gone = [note for note in owners if not note.exists()]
                if len(gone) >= slots or time.monotonic() > patience:
                    sys.exit(f"more than {slots} owners of {gpu}: {owners}")
            os.write(1, b"+")
            time.sleep(random.random() / 500)
            assert own.exists(), "someone took the note away"
            own.unlink()
"""
JOBS, KILLS = 50, 60


@pytest.mark.slow
@pytest.mark.parametrize(("names", "runs_per_gpu"), [("a,b,c", 1), ("a,b", 3)])
def test_fifty_processes_and_random_kills_leave_one_owner_and_every_slot(
    two_gpus, no_waiting, monkeypatch, tmp_path, ledger, names, runs_per_gpu
):
    monkeypatch.setenv("DMLBENCH_GPUS", names)
    for name in names.split(","):
        (ledger / name).mkdir()
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    chance = random.Random(0)
    reads, writes = os.pipe()

    def start():
        return subprocess.Popen(
            [sys.executable, "-S", "-c", textwrap.dedent(JOB), tmp_path, ledger, str(runs_per_gpu)],
            env=environment,
            stdout=writes,
            stderr=subprocess.PIPE,
            text=True,
        )

    running = [start() for _ in range(JOBS)]
    killed = []
    # Every lease sends a byte; after some of them a random process is killed, wherever it is.
    while len(killed) < KILLS:
        assert os.read(reads, 1) == b"+", "a job ended before the last one was killed"
        if chance.random() < 0.3:
            victim = running.pop(chance.randrange(len(running)))
            victim.kill()
            killed.append(victim)
            running.append(start())
    (ledger / "enough").touch()
    os.close(writes)
    with open(reads, "rb") as leases:
        assert leases.read().count(b".") == JOBS
    said = {line for process in running for line in process.communicate()[1].splitlines()}
    assert {line.partition(":")[0] for line in said} == {"waiting for a GPU"}
    assert {process.returncode for process in running} == {0}
    ends = {process.wait() for process in killed}
    for process in killed:
        process.stderr.close()
    assert ends == {-signal.SIGKILL}
    with contextlib.ExitStack() as leases:
        count = runs_per_gpu * len(names.split(","))
        assert len([taken(leases, runs_per_gpu) for _ in range(count)]) == count
        with pytest.raises(WaitedError):
            taken(leases, runs_per_gpu)
