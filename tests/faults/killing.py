"""A piece of work, done by child processes of which 30 are killed at random moments.

Run as a process of its own that does no work itself: its children are forks and start at once.
"""

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dmlbench.data.pack import pack
from dmlbench.files import atomic_write
from dmlbench.parquet import read_table
from dmlbench.search.worker import work
from dmlbench.training import checkpoint
from dmlbench.training.export import export_embeddings
from safetensors.torch import load_file
from stores import is_as_packed
from toy_search import Function, open_trials, strategy
from toy_training import VALUES, train

KILLS = 30
READERS = {".parquet": read_table, ".safetensors": load_file, ".yaml": Path.read_text}


class Data:
    """The toy data in a folder, as tests/conftest.py names its files."""

    def __init__(self, folder: Path):
        self.archive, self.index, self.split = (
            folder / name for name in ("toy.zip", "images.parquet", "half.parquet")
        )
        self.pixels, self.pixel_table = folder / "pixels.npy", folder / "pixels.parquet"

    def as_arguments(self) -> dict[str, Path]:
        names = ("index", "split", "pixels", "pixel_table")
        return {name: getattr(self, name) for name in names}


def trains(data: Data, folder: Path) -> None:
    """Train, with so many checkpoints that kills often hit one being written."""
    checkpoint.INTERVAL = 0.05
    train(folder, data, {"epochs": 6})


def packs(data: Data, folder: Path) -> None:
    table = folder / "pixels.parquet"
    pack(data.index, [data.archive], 64, "rgb", folder / "pixels.npy", table, threads=2)


def embeds(data: Data, folder: Path) -> None:
    trained = data.index.parent / "trained"
    export_embeddings(
        VALUES,
        **data.as_arguments(),
        model=trained / "model.safetensors",
        last=trained / "last.safetensors",
        device="cpu",
        threads=1,
        output=folder / "embeddings.parquet",
    )


def searches(data: Data, folder: Path) -> None:
    """Work on a search with short trials, until its budget is spent."""
    state = folder / ".state"
    objective = Function(before=lambda number: time.sleep(0.02))
    work(open_trials(state, budget=24), strategy("coordinate"), objective)
    found = [(trial.number, trial.params, trial.value) for trial in open_trials(state).get()]
    with atomic_write(folder / "trials") as unfinished:
        unfinished.write_text(repr(found))


def child(work: Callable, data: Data, folder: Path) -> int:
    """Start a piece of work; returns the process."""
    folder.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        work(data, folder)
        os._exit(0)
    return pid


def finished(pid: int) -> bool:
    """Wait for a child: whether it came to its end; another failure than the kill is an error."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), f"a child failed with status {status}"
    return status == 0


def results(folder: Path) -> dict[str, bytes]:
    """The files with final names, all of them readable."""
    found = [path for path in folder.iterdir() if not path.name.startswith((".", "checkpoint"))]
    for path in found:
        READERS.get(path.suffix, Path.read_bytes)(path)
    if (folder / "pixels.npy").exists():
        assert is_as_packed(folder / "pixels.npy", folder / "pixels.parquet")
    return {path.name: path.read_bytes() for path in found}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def main(name: str, folder: Path) -> None:
    piece = {"train": trains, "pack": packs, "embed": embeds, "search": searches}[name]
    data, chance = Data(folder / "data"), random.Random(name)
    if name == "embed":
        assert finished(child(lambda *_: train(data.index.parent / "trained", data), data, folder))
    start = time.monotonic()
    assert finished(child(piece, data, folder / "undisturbed"))
    duration = time.monotonic() - start
    expected = results(folder / "undisturbed")
    disturbed, killed, ended = folder / "disturbed", 0, 0
    while killed < KILLS or not ended:
        pid = child(piece, data, disturbed)
        if killed < KILLS:
            time.sleep(chance.uniform(0, duration))
            os.kill(pid, signal.SIGKILL)
        if finished(pid):
            assert results(disturbed) == expected, "another result"
            left = names(disturbed) - names(folder / "undisturbed")
            assert not left, f"left over: {left}"
            shutil.rmtree(disturbed)
            ended += 1
        else:
            found = results(disturbed)
            assert all(found[name] == expected[name] for name in found), "a result half-written"
            killed += 1
    print(f"{killed} killed, {ended} finished, nothing lost")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
