"""Do other CPUs give the same digits? One small training under emulated instruction sets.

    python benchmarks/same_digits.py     # minutes; prints the tables of docs/same_digits.md

Each training is a process of its own, on one thread, with switches that its libraries read: torch's
own kernels (ATEN_CPU_CAPABILITY), oneDNN (ONEDNN_MAX_CPU_ISA) and MKL (MKL_ENABLE_INSTRUCTIONS,
MKL_CBWR). A machine is emulated by limiting all three to what it has; a setting is what is asked of
some of them. A row with one digest says that the libraries it leaves free do not matter.
"""

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))
os.environ["OMP_NUM_THREADS"] = "1"

# Imported once: libraries read their switches when they compute for the first time.
import torch  # noqa: E402
from dmlbench.training import loop  # noqa: E402
from gpu_equal import Toy, toy_files  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

# Instruction sets, as each library names what it may use at most.
TORCH = {"ATEN_CPU_CAPABILITY": "avx2"}
ONEDNN = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
MKL = {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}
COMPATIBLE = {"MKL_CBWR": "COMPATIBLE"}
MACHINES = {
    "as it is": {},
    "AVX-512 without VNNI": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
    },
    "AVX2": TORCH | ONEDNN | MKL,
}
SETTINGS = {
    "none": {},
    "torch": TORCH,
    "oneDNN": ONEDNN,
    "MKL compatible": COMPATIBLE,
    "torch, oneDNN": TORCH | ONEDNN,
    "torch, MKL compatible": TORCH | COMPATIBLE,
    "oneDNN, MKL compatible": ONEDNN | COMPATIBLE,
    "torch, oneDNN, MKL compatible": TORCH | ONEDNN | COMPATIBLE,
}
_ORDER = {"avx2": 1, "AVX2": 1, "avx512": 2, "AVX512_CORE": 2, "AVX512": 2}
LOSSES = ("proxy_anchor", "multi_similarity", "triplet")
ITERATIONS = 60


def switches(machine: str, setting: str) -> dict[str, str]:
    """What the process reads: of each library the lower of the machine's and the setting's set."""
    found = dict(MACHINES[machine])
    for name, value in SETTINGS[setting].items():
        mine = found.get(name)
        if mine is None or name == "MKL_CBWR" or _ORDER[value] < _ORDER[mine]:
            found[name] = value
    return found


def train(loss: str, iterations: int, folder: Path) -> dict:
    """A training's weights, as the beginning of their digest, and the CPU seconds that it took."""
    values = {
        "dataset": "toy",
        "network": {
            "backbone": {"name": "convnet", "widths": [16, 32, 64]},
            "pooling": "average",
            "pixels": 28,
            "mode": "gray",
            "mean": [0.5],
            "std": [0.5],
        },
        "embedding_dim": 64,
        "loss": {"name": loss},
        "miner": None,
        "sampler": {"name": "class_balanced", "images_per_class": 5},
        "split": "half",
        "fold": None,
        "seed": 0,
        "epochs": 1,
        "iterations_per_epoch": iterations,
        "batch_size": 50,
        "optimizer": {"name": "adamw", "learning_rate": 0.003},
        "selection": "last_epoch",
    }
    with tempfile.TemporaryDirectory() as place:
        files = {
            "spec_file": Path(place, "spec.yaml"),
            "model": Path(place, "model.safetensors"),
            "last": Path(place, "last.safetensors"),
            "history": Path(place, "history.parquet"),
        }
        begin = time.process_time()
        loop.train(values, **toy_files(folder), **files, device="cpu", threads=1)
        seconds = time.process_time() - begin
        weights = load_file(files["last"])
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return {"digest": digest.hexdigest()[:8], "seconds": round(seconds, 2)}


def apart(work, *arguments, **environment):
    """What a function returns in a process that computed nothing before, with these switches."""

    def run(send) -> None:
        os.environ.update(environment)
        with (
            open(os.devnull, "w", encoding="utf-8") as nothing,
            contextlib.redirect_stderr(nothing),
        ):
            send.send(work(*arguments))

    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=run, args=(send,))
    child.start()
    found = receive.recv()
    child.join()
    return found


def draw(folder: Path) -> None:
    """The data of the trainings."""
    Toy(folder, 28)


def main() -> None:
    """Train under every machine and setting; print a table for each loss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=LOSSES)
    parser.add_argument("--machine", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    options = parser.parse_args()
    for name in {name for each in (*MACHINES.values(), *SETTINGS.values()) for name in each}:
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        apart(draw, Path(folder))
        for loss in options.loss:
            print(f"\n{loss}: first digits of the weights' sha256 (CPU seconds)\n")
            print("| setting | " + " | ".join(options.machine) + " | same |")
            print("|---" * (len(options.machine) + 2) + "|")
            # Different settings can be the same switches on a machine that has less.
            known = {}
            for setting in SETTINGS:
                found = []
                for machine in options.machine:
                    wanted = switches(machine, setting)
                    key = tuple(sorted(wanted.items()))
                    if key not in known:
                        known[key] = apart(train, loss, options.iterations, Path(folder), **wanted)
                    found.append(known[key])
                cells = [f"`{each['digest']}` ({each['seconds']})" for each in found]
                same = len({each["digest"] for each in found}) == 1
                print(
                    f"| {setting} | {' | '.join(cells)} | {'yes' if same else 'no'} |", flush=True
                )


if __name__ == "__main__":
    main()
