"""How fast several processes train on one device."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from dmlbench.training.seeds import make_deterministic
from gpu_report import Finding
from gpu_step import Clock, Scale, Step
from step_memory import REPOSITORY


def train_when_asked(device: str, network: str, batch: int, pixels: int, seconds: float) -> None:
    """Say that all is loaded; then train for each line of input, and print images a second."""
    torch.set_num_threads(1)
    make_deterministic()
    clock = Clock(torch.device(device), seconds)
    step = Step(network, batch, pixels, "float32", "eager", clock.device)
    for _ in range(3):
        step()
    clock.wait()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            step()
            clock.wait()
            done += batch
        print(json.dumps(done / (time.perf_counter() - begin)), flush=True)


def together(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Images a second of several processes on one device, and the best number of them.

    All are started once, side by side: torch and CUDA take each of them many seconds to load.
    """
    network, best = "convnet4", (0, 0.0)
    if clock.device.type == "cuda":
        torch.cuda.empty_cache()
    arguments = (clock.device.type, network, scale.networks[network], 28, clock.seconds)
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(_training(arguments)) for _ in range(max(scale.jobs))]
        for job in running:
            _answer(job)
        for jobs in scale.jobs:
            for job in running[:jobs]:
                job.stdin.write("train\n")
                job.stdin.flush()
            rate = sum(json.loads(_answer(job)) for job in running[:jobs])
            yield Finding("together", f"{jobs} trainings of {network}", rate, "images/s")
            if rate > 1.05 * best[1]:
                best = (jobs, rate)
    yield Finding("together", "best runs_per_gpu", best[0], "trainings")


@contextlib.contextmanager
def _training(arguments: tuple) -> Iterator[subprocess.Popen]:
    """A process that trains when asked, ended with the block."""
    places = [str(Path(__file__).parent), str(REPOSITORY / "workflow/scripts")]
    code = f"import sys; sys.path[:0] = {places!r}; import gpu_sharing; "
    command = [sys.executable, "-c", code + f"gpu_sharing.train_when_asked(*{arguments!r})"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as job:
        try:
            yield job
        finally:
            job.kill()


def _answer(job: subprocess.Popen) -> str:
    line = job.stdout.readline()
    if not line:
        raise ChildProcessError(f"a training ended with status {job.wait()}")
    return line
