"""Workers of one search of trainings, killed at random moments, until they were 30.

Run as a process of its own that does no work itself: its workers are forks and start at once.
With the folder of a database's files as the third argument the trials are in that database, and
every tenth time the database is killed instead of a worker.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
from dmlbench.search.outcome import finalize
from dmlbench.search.state import open_trials
from dmlbench.search.storage import DATABASE
from dmlbench.search.worker_job import run_worker
from dmlbench.training import checkpoint
from optuna.storages.journal._storage import JournalOperation
from optuna.trial import TrialState
from postgres import Server
from test_search_trainings import facts

KILLS = 30
WORKERS = 3
BUDGET = 24
FOLDS = [0, 2]
# Rates that no training survives, and others.
RATES = {"low": 1e-4, "high": 1e36, "log": True}
GIVEN = facts(
    {"optimizer": {"name": "sgd", "learning_rate": 0.1}, "sampler": {"name": "random"}},
    budget=BUDGET,
    folds=FOLDS,
) | {"parameters": {"optimizer.learning_rate": RATES}, "most_failed": 1.0}


def worker(data: dict, folder: Path, number: int) -> int:
    """Start a worker; returns the process."""
    pid = os.fork()
    if pid == 0:
        checkpoint.INTERVAL = 0.02
        run_worker("killed", GIVEN, folder=folder, output=folder / f"worker{number}.yaml", **data)
        os._exit(0)
    return pid


def ended(pid: int, *, database: bool) -> bool:
    """Wait for a worker: whether it came to its end, or was killed or lost its database."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in ((0, 1, -signal.SIGKILL) if database else (0, -signal.SIGKILL)), status
    return status == 0


def found(data: dict, folder: Path) -> list[dict]:
    """The trials of a finished search, without what depends on who was killed when."""
    finalize(
        "killed", GIVEN, folder=folder, trials=folder / "trials.parquet", best=folder / "best.yaml"
    )
    rows = pq.read_table(folder / "trials.parquet").to_pylist()
    return [row | {"seconds": None, "attempts": None} for row in rows]


def endings(folder: Path) -> Counter:
    """Trial number -> how often the journal says that it ended."""
    (log,) = folder.glob("state-*/journal.log")
    entries = map(json.loads, log.read_text().splitlines())
    ends = (e for e in entries if e["op_code"] == JournalOperation.SET_TRIAL_STATE_VALUES)
    # The only study of its journal: a trial's id is its number.
    return Counter(e["trial_id"] for e in ends if TrialState(e["state"]).is_finished())


def main(data_folder: Path, folder: Path, server: Server | None = None) -> None:
    data = {name: data_folder / file for name, file in FILES.items()}
    data |= {"device": "cpu", "threads": 1}
    chance = random.Random(0)
    start = time.monotonic()
    assert ended(worker(data, folder / "undisturbed", 0), database=False)
    pause = (time.monotonic() - start) / KILLS
    expected = found(data, folder / "undisturbed")
    if server:
        os.environ[DATABASE] = server.url
    disturbed, kills, lost = folder / "disturbed", 0, 0
    running = {worker(data, disturbed, number): number for number in range(WORKERS)}
    while kills < KILLS and running:
        time.sleep(chance.uniform(0, pause))
        kills += 1
        if server and kills % 10 == 0:
            server.kill()
            server.start()
            continue
        pid = chance.choice(sorted(running))
        os.kill(pid, signal.SIGKILL)
        number = running.pop(pid)
        lost += not ended(pid, database=server is not None)
        running[worker(data, disturbed, number)] = number
    lost += sum(not ended(pid, database=server is not None) for pid in running)
    assert ended(worker(data, disturbed, 0), database=False)
    assert found(data, disturbed) == expected, "other trials"
    if server:
        assert not list(disturbed.glob("*/journal.log")), "not in the database"
    else:
        assert endings(disturbed) == Counter(range(BUDGET)), "a trial lost or doubled"
    trials = open_trials("killed", GIVEN, disturbed)
    attempts = [trial.user_attrs["attempts"] for trial in trials.get()]
    assert BUDGET < sum(attempts) <= BUDGET + lost, attempts
    states = Counter(trial.state.name for trial in trials.get())
    problems = [t.user_attrs["problem"] for t in trials.get() if t.state.name == "FAIL"]
    assert problems
    assert all("fold" in problem for problem in problems)
    assert states["COMPLETE"] > 0
    print(f"{kills} kills, {sum(attempts) - BUDGET} attempts repeated, {dict(states)}")


FILES = {
    "index": "images.parquet",
    "split": "folds.parquet",
    "pixels": "pixels.npy",
    "pixel_table": "pixels.parquet",
}

if __name__ == "__main__":
    data_folder, folder, *servers = map(Path, sys.argv[1:])
    main(data_folder, folder, *map(Server, servers))
