"""How fast several processes train on one device."""

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


def train_for(device: str, network: str, batch: int, pixels: int, seconds: float) -> None:
    """Train until the time is up, after a sign on standard output; print images a second."""
    torch.set_num_threads(1)
    make_deterministic()
    clock = Clock(torch.device(device), seconds)
    step = Step(network, batch, pixels, "float32", "eager", clock.device)
    for _ in range(3):
        step()
    clock.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        step()
        clock.wait()
        done += batch
    print(json.dumps(done / (time.perf_counter() - begin)))


def together(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Images a second of several processes on one device, and the best number of them."""
    network, best = "convnet4", (0, 0.0)
    for jobs in scale.jobs:
        arguments = (clock.device.type, network, scale.networks[network], 28, clock.seconds)
        code = f"import gpu_sharing; gpu_sharing.train_for(*{arguments!r})"
        path = f"{Path(__file__).parent}:{REPOSITORY / 'workflow/scripts'}"
        command = ["env", f"PYTHONPATH={path}", sys.executable, "-c", code]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        running = [subprocess.Popen(command, **pipes) for _ in range(jobs)]
        for job in running:
            job.stdout.readline()
        for job in running:
            job.stdin.write("\n")
            job.stdin.flush()
        rate = sum(json.loads(job.communicate()[0].splitlines()[-1]) for job in running)
        yield Finding("together", f"{jobs} trainings of {network}", rate, "images/s")
        if rate > 1.05 * best[1]:
            best = (jobs, rate)
    yield Finding("together", "best runs_per_gpu", best[0], "trainings")
