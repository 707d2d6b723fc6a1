"""A training in several processes, one per GPU, started by torchrun."""

import contextlib
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from dmlbench import distributed
from dmlbench.errors import UserError

_LIBRARY = Path(__file__).resolve().parents[2]
_LONG = timedelta(days=2)
"""All processes wait while the first one scores the watched images, or writes a checkpoint."""


def in_processes(train: Callable[..., None]) -> Callable[..., None]:
    """Let a function of a spec's plain values run in as many processes as `gpus` says.

    The others' arguments must be plain values or paths; a function among them is not called. Each
    process calls the function; the first UserError in one of them is raised here.
    """

    @functools.wraps(train)
    def called(values: dict, **arguments: Any) -> None:
        count = values.get("gpus", 1)
        if count == 1 or distributed.size() == count:
            train(values, **arguments)
            return
        plain = {
            key: str(value) if isinstance(value, Path) else value
            for key, value in arguments.items()
            if not callable(value)
        }
        function = f"{train.__module__}:{train.__qualname__}"
        _run(count, {"function": function, "values": values, "arguments": plain})

    return called


def _run(count: int, task: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="dmlbench-") as folder:
        (Path(folder) / "task.json").write_text(json.dumps(task), encoding="utf-8")
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        processes = ["--nproc-per-node", str(count), "--module", __name__, folder]
        status = _wait([*torchrun, *processes])
        error = Path(folder) / "error.txt"
        if error.exists():
            raise UserError(error.read_text(encoding="utf-8"))
        if status:
            raise UserError(f"a process of the training ended with an error (status {status})")


def _wait(command: list[str]) -> int:
    """Run a command to its end; what ends this process's call ends the command first."""
    paths = [str(_LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    with _ignored(signal.SIGUSR1):
        running = subprocess.Popen(
            command, env=environment, stdout=_file(sys.stdout), stderr=_file(sys.stderr)
        )
        try:
            return running.wait()
        except BaseException:
            running.terminate()
            running.wait()
            raise


@contextlib.contextmanager
def _ignored(number: signal.Signals) -> Iterator[None]:
    """A cluster sends it to every process: it is for the first of the training's alone."""
    previous = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, previous)


def _file(stream) -> Any:
    """The stream as a file of the system; None, the one that is inherited, if it has none."""
    try:
        stream.fileno()
    except (AttributeError, OSError):
        return None
    return stream


def _main(folder: Path) -> None:
    """One of the processes, as torchrun starts it."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    module, _, name = task["function"].partition(":")
    on_gpus = task["arguments"].get("device") != "cpu" and torch.cuda.is_available()
    if on_gpus:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpus else "gloo", timeout=_LONG)
    try:
        getattr(importlib.import_module(module), name)(task["values"], **task["arguments"])
    except UserError as error:
        # The first one to fail ends the others.
        with (
            contextlib.suppress(FileExistsError),
            open(folder / "error.txt", "x", encoding="utf-8") as file,
        ):
            file.write(str(error))
        sys.exit(1)
    dist.destroy_process_group()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
