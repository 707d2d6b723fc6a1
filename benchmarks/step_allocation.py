"""How a CPU's training step gets its memory: time and peak memory by setting.

    python benchmarks/step_allocation.py                 # 20 and 96 steps, half an hour of one core

MobileNetV2 with an embedding layer of 512, forward, backward and AdamW's step on 60 images of 128
pixels, one thread. Settings: `returned` is the C library's default, by which a large tensor's
memory returns to the system when it is freed; `kept` is `training.cpu.use_cpu`; `huge pages` adds
torch's THP_MEM_ALLOC_ENABLE to either. Each measurement is a process of its own; they take turns.
Writes results/benchmarks/step-allocation-<processor>.json and prints a table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from machine import machine, peak_memory, slug, write_report  # noqa: E402

SETTINGS = ("returned", "returned, huge pages", "kept", "kept, huge pages")
IMAGES, PIXELS = 60, 128


def seconds_of_steps(setting: str, steps: int) -> list[float]:
    """CPU seconds of each step, in this process."""
    import torch
    from dmlbench.training.cpu import use_cpu
    from torchvision.models import mobilenet_v2

    torch.manual_seed(0)
    if setting.startswith("kept"):
        use_cpu(1)
    else:
        torch.set_num_threads(1)
    network = mobilenet_v2(num_classes=512)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-5)
    images = torch.randn(IMAGES, 3, PIXELS, PIXELS)
    seconds = []
    for _ in range(steps):
        start = time.process_time()
        embeddings = torch.nn.functional.normalize(network(images))
        loss = (embeddings @ embeddings.T).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - start)
    return seconds


def measure(setting: str, steps: int) -> dict[str, float]:
    """One measurement in a process of its own."""
    environment = os.environ | {"THP_MEM_ALLOC_ENABLE": str(int("huge" in setting))}
    command = [sys.executable, __file__, "--alone", setting, "--steps", str(steps)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", nargs="*", type=int, default=[20, 96])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        seconds = seconds_of_steps(given.alone, *given.steps)
        later = statistics.median(seconds[1:])
        found = {"first": seconds[0], "later": later, "all": sum(seconds), "peak": peak_memory()}
        print(json.dumps(found))
        return

    results = {"machine": machine(["torch", "torchvision"]), "measurements": []}
    for steps in given.steps:
        for _ in range(given.rounds):
            for setting in SETTINGS:
                found = {"setting": setting, "steps": steps, **measure(setting, steps)}
                results["measurements"].append(found)
    output = REPOSITORY / "results" / "benchmarks" / f"step-allocation-{slug()}.json"
    write_report(output, results)

    print(f"{'setting':22}{'steps':>6}{'first step s':>14}{'later s':>9}{'all s':>8}{'peak GB':>9}")
    for steps in given.steps:
        for setting in SETTINGS:
            rows = [
                row
                for row in results["measurements"]
                if (row["setting"], row["steps"]) == (setting, steps)
            ]
            first, later, total, peak = (
                statistics.median(row[name] for row in rows)
                for name in ("first", "later", "all", "peak")
            )
            print(f"{setting:22}{steps:6}{first:14.2f}{later:9.2f}{total:8.1f}{peak / 1e9:9.2f}")


if __name__ == "__main__":
    main()
