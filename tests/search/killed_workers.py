"""Workers of one search of trainings, killed 30 times: at random moments and during trials.

Run as a process of its own that does no work itself: its workers are forks and start at once.
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
from dmlbench.search import worker_job
from dmlbench.search.objective import TrainingObjective
from dmlbench.search.outcome import finalize
from dmlbench.search.trials import open_trials
from dmlbench.training import checkpoint
from optuna.storages.journal._storage import JournalOperation
from optuna.trial import TrialState
from test_search_trainings import facts

KILLS = 30
WORKERS = 3
BUDGET = 24
FOLDS = [0, 2]
# Learning rates that make the loss infinite, and others.
RATES = {"low": 1e-4, "high": 1e36, "log": True}
GIVEN = facts(
    {"optimizer": {"name": "sgd", "learning_rate": 0.1}, "sampler": {"name": "random"}},
    budget=BUDGET,
    folds=FOLDS,
) | {"parameters": {"optimizer.learning_rate": RATES}, "most_failed": 1.0}


class Worker:
    """A process that works on a search, and says when it begins a trial."""

    def __init__(self, data: dict, folder: Path, number: int):
        self.number = number
        self._trials, announcing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:

            class Announced(TrainingObjective):
                def evaluate(self, *arguments):
                    os.write(announcing, b".")
                    return super().evaluate(*arguments)

            checkpoint.INTERVAL = 0.02
            worker_job.TrainingObjective = Announced
            output = folder / f"worker{number}.yaml"
            worker_job.run_worker("killed", GIVEN, folder=folder, output=output, **data)
            os._exit(0)
        os.close(announcing)

    def wait_for_trial(self) -> None:
        """Wait until it has begun a trial since the last call, or has ended."""
        os.read(self._trials, 1)

    def kill(self) -> None:
        """Kill it, whatever it is doing."""
        os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> bool:
        """Wait for it: whether it came to its end, or was killed."""
        os.close(self._trials)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert status in (0, -signal.SIGKILL), status
        return status == 0


def found(data: dict, folder: Path) -> list[dict]:
    """The trials of a finished search, without what depends on who was killed when."""
    finalize(
        "killed", GIVEN, folder=folder, trials=folder / "trials.parquet", best=folder / "best.yaml"
    )
    rows = pq.read_table(folder / "trials.parquet").to_pylist()
    return [row | {"seconds": None, "attempts": None} for row in rows]


def endings(folder: Path) -> Counter:
    """Trial number -> how often it ended according to the journal."""
    (log,) = folder.glob("state-*/journal.log")
    entries = map(json.loads, log.read_text().splitlines())
    ends = (e for e in entries if e["op_code"] == JournalOperation.SET_TRIAL_STATE_VALUES)
    # The only study of its journal: a trial's id is its number.
    return Counter(e["trial_id"] for e in ends if TrialState(e["state"]).is_finished())


def main(data_folder: Path, folder: Path) -> None:
    data = {name: data_folder / file for name, file in FILES.items()}
    data |= {"device": "cpu", "threads": 1}
    chance = random.Random(0)
    start = time.monotonic()
    assert Worker(data, folder / "undisturbed", 0).ended()
    of_trial = (time.monotonic() - start) / BUDGET
    expected = found(data, folder / "undisturbed")
    disturbed, lost = folder / "disturbed", 0
    running = [Worker(data, disturbed, number) for number in range(WORKERS)]
    for kill in range(1, KILLS + 1):
        worker = running.pop(chance.randrange(WORKERS))
        if kill % 2:
            worker.wait_for_trial()
        time.sleep(chance.uniform(0, of_trial))
        worker.kill()
        lost += not worker.ended()
        running.append(Worker(data, disturbed, worker.number))
    lost += sum(not worker.ended() for worker in running)
    assert Worker(data, disturbed, 0).ended()
    assert found(data, disturbed) == expected, "other trials"
    assert endings(disturbed) == Counter(range(BUDGET)), "a trial lost or doubled"
    trials = open_trials("killed", GIVEN, disturbed)
    attempts = [trial.user_attrs["attempts"] for trial in trials.get()]
    assert BUDGET < sum(attempts) <= BUDGET + lost, attempts
    states = Counter(trial.state.name for trial in trials.get())
    problems = [t.user_attrs["problem"] for t in trials.get() if t.state.name == "FAIL"]
    assert problems
    assert all("fold" in problem for problem in problems)
    assert states["COMPLETE"] > 0
    print(f"{KILLS} kills, {sum(attempts) - BUDGET} attempts repeated, {dict(states)}")


FILES = {
    "index": "images.parquet",
    "split": "folds.parquet",
    "pixels": "pixels.npy",
    "pixel_table": "pixels.parquet",
}

if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
