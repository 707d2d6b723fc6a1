"""Calls in separate processes, ended at limits of time and memory."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

CPU_LIMIT, SECONDS_LIMIT, MEMORY_LIMIT = 600, 900, 10 * 10**9  # the last in bytes
MB = 10**6
SNAKEMAKE = (sys.executable, "-m", "snakemake")


class Spent(NamedTuple):
    """The cost of a call; `ended` names the limit that ended it, if any."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    ended: str | None


def call(command: Sequence[str], folder: Path) -> Spent:
    """Run a command under the limits.

    Linux counts the parent's size as a program's peak memory, so a small process starts it.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as small:
        return small.submit(_call, command, folder).result()


def _call(command: Sequence[str], folder: Path) -> Spent:

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, preexec_fn=limit, stdout=output, stderr=subprocess.STDOUT
        )
        timer = threading.Timer(SECONDS_LIMIT, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    ended = None
    if process.returncode == -signal.SIGKILL and seconds > SECONDS_LIMIT:
        ended = f"ended at {SECONDS_LIMIT} seconds"
    elif process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        ended = f"ended at {CPU_LIMIT} CPU seconds"
    elif "MemoryError" in said:
        ended = f"ended at {MEMORY_LIMIT / 10**9:g} GB"
    elif process.returncode:
        sys.exit(f"{' '.join(command)}: status {process.returncode}\n{said[-2000:]}")
    return Spent(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / MB, ended)
