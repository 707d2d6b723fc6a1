"""What a call prints while its jobs run: what was learned, how far the call is, the time left."""

import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import NamedTuple, TextIO

from snakemake_interface_logger_plugins.common import LogEvent

from dmlbench.plan.costs.costs import duration
from dmlbench.snakemake_parts import take_over_terminal

_SHORT = 45
"""Seconds left below which they are not counted."""

_SILENCE = 60
"""Seconds without a line after which one says what is running."""

_PAUSE = 10
"""Seconds between two lines about jobs that are no runs."""

SMALL = 1.0
"""Seconds that a job takes which neither trains nor searches, before one of its kind has ended."""

_REPLACED = {
    LogEvent.JOB_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED,
    LogEvent.PROGRESS,
    LogEvent.SHELLCMD,
}


class Task(NamedTuple):
    """A job of a call.

    Attributes:
        kind: jobs of one kind take about as long.
        title: which loss it trains, in words; the rule of jobs that train none.
        is_run: whether it trains a run.
        seconds: what it takes, estimated before any of its kind has ended; None if unknown.
        learned: called when it has ended: loss and score, in words.
        share: called while it runs: how much of it is done, in words; empty if unknown.
    """

    kind: str
    title: str
    is_run: bool = False
    seconds: float | None = SMALL
    learned: Callable[[], str] = str
    share: Callable[[], str] = str


class Progress:
    """How far a call is.

    Args:
        tasks: its jobs by id.
        now: a clock in seconds.
    """

    def __init__(self, tasks: Mapping[int, Task], now: Callable[[], float] = time.monotonic):
        self.tasks, self.now = dict(tasks), now
        self.began = now()
        self.running: dict[int, float] = {}
        self.ended: dict[int, float] = {}
        self.took: dict[str, list[float]] = defaultdict(list)

    def start(self, job: int) -> None:
        if job in self.tasks:
            self.running[job] = self.now()

    def end(self, job: int) -> Task | None:
        """Count a job, which is returned; None if it was counted before or is unknown."""
        if job not in self.tasks or job in self.ended:
            return None
        task = self.tasks[job]
        self.ended[job] = self.now() - self.running.pop(job, self.now())
        self.took[task.kind].append(self.ended[job])
        return task

    def seconds_left(self) -> float | None:
        """Seconds until all jobs have ended, if as many run at once as so far; None if unknown."""
        spent = {job: self.now() - since for job, since in self.running.items()}
        slower, left = self._slower(spent), 0.0
        for job in self.tasks.keys() - self.ended:
            kind, seconds = self.tasks[job].kind, self.tasks[job].seconds
            if not self.took[kind] and seconds is None:
                return None
            needed = fmean(self.took[kind]) if self.took[kind] else slower * seconds
            left += max(0.0, needed - spent.get(job, 0.0))
        busy = sum(map(sum, self.took.values())) + sum(spent.values())
        elapsed = self.now() - self.began
        return left / max(1.0, busy / elapsed if elapsed else 1.0)

    def _slower(self, spent: Mapping[int, float]) -> float:
        """How many times longer runs take than was estimated, as on a busy machine; at least 1."""
        estimated = {
            j: task.seconds for j, task in self.tasks.items() if task.is_run and task.seconds
        }
        over = {job: took for job, took in spent.items() if took > estimated.get(job, took)}
        took = {job: each for job, each in (self.ended | over).items() if job in estimated}
        return max(1.0, sum(took.values()) / sum(map(estimated.get, took))) if took else 1.0

    def counted(self) -> str:
        """`3 of 12 runs, 20 of 60 jobs, about 4 minutes left`."""
        runs = [job for job, task in self.tasks.items() if task.is_run]
        counts = [(len(self.ended.keys() & runs), len(runs), "run")] if runs else []
        counts.append((len(self.ended), len(self.tasks), "job"))
        words = [f"{done} of {of} {noun}{'s' * (of != 1)}" for done, of, noun in counts]
        left = self.seconds_left()
        if left is not None and len(self.ended) < len(self.tasks):
            words.append(f"{'less than a minute' if left < _SHORT else duration(left)} left")
        return ", ".join(words)

    def at_work(self) -> str:
        """`ProxyAnchor, seed 1 (45 %)`, for every running job."""
        parts = []
        for task in map(self.tasks.get, self.running):
            share = task.share()
            parts.append(f"{task.title} ({share})" if share else task.title)
        return "; ".join(parts)


class ProgressHandler(logging.Handler):
    """Prints a line for every trained run, and for other jobs now and then.

    Args:
        progress: of the call.
        stream: to print to.
    """

    def __init__(self, progress: Progress, stream: TextIO):
        super().__init__()
        self.progress, self.stream = progress, stream
        self.printed = progress.now()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_STARTED:
            for job in record.jobs:
                self.progress.start(job)
        elif event == LogEvent.JOB_FINISHED:
            task = self.progress.end(record.job_id)
            if task is not None and (task.is_run or self._silent_for() >= _PAUSE):
                learned = task.learned()
                self._print(f"{task.title}: {learned}" if learned else f"{task.title}: done")

    def look(self) -> None:
        """Say what is running if nothing was said for a while."""
        with self.lock:
            if self.progress.running and self._silent_for() >= _SILENCE:
                self._print(f"running: {self.progress.at_work()}")

    def keep_looking(self) -> None:
        """`look` every few seconds, until the process ends."""

        def loop():
            while True:
                time.sleep(_PAUSE)
                self.look()

        threading.Thread(target=loop, daemon=True).start()

    def _silent_for(self) -> float:
        return self.progress.now() - self.printed

    def _print(self, what: str) -> None:
        self.printed = self.progress.now()
        # A full disk may keep lines from their file, but not the jobs from going on.
        with contextlib.suppress(OSError):
            print(f"dmlbench: {what} | {self.progress.counted()}", file=self.stream, flush=True)


def is_of_snakemake_alone(record: logging.LogRecord) -> bool:
    """Whether a record of Snakemake's is not replaced by lines of progress."""
    silent = record.getMessage() == "Select jobs to execute..."
    return not silent and getattr(record, "event", None) not in _REPLACED


def replace_lines(logger: logging.Logger, tasks: Mapping[int, Task]) -> None:
    """Print lines of progress instead of Snakemake's lines about single jobs."""
    stream = take_over_terminal(logger, is_of_snakemake_alone)
    if stream is not None:
        lines = ProgressHandler(Progress(tasks), stream)
        lines.keep_looking()
        logger.addHandler(lines)
