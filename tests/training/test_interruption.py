"""A signal to stop ends a training within the iteration, and the next call loses nothing."""

import functools
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from dmlbench.errors import UserError
from dmlbench.training import checkpoint, loop, watched
from dmlbench.training.interruption import SIGNALS, Interrupted, Interruption
from toy_training import GREEDY_CORESET, VALUES, equal, history, run_epoch, train, trainer

# Three epochs of four iterations; everything that keeps a state or draws at random takes part.
SHORT = {
    "epochs": 3,
    "iterations_per_epoch": 4,
    "warmup_epochs": 1,
    "schedule": {"step": 1, "gamma": 0.5},
}
DRAWING = SHORT | {
    "loss": {"name": "margin", "margin": 0.5},
    "miner": {"name": "distance_weighted_pairs"},
}


def signal_after(monkeypatch, count, number):
    """Send this process a signal after a number of iterations, in the step itself."""
    step, done = loop.Trainer._step, iter(range(1, 1000))

    def signalling(self, *batch):
        loss = step(self, *batch)
        if next(done) == count:
            os.kill(os.getpid(), number)
        return loss

    monkeypatch.setattr(loop.Trainer, "_step", signalling)


@pytest.mark.parametrize("count", range(1, 13))
@pytest.mark.parametrize("changes", [DRAWING, SHORT | {"sampler": GREEDY_CORESET}])
def test_interrupted_at_any_iteration_it_ends_with_the_same_weights(
    tmp_path, toy_data, monkeypatch, changes, count
):
    undisturbed = train(tmp_path / "undisturbed", toy_data, changes)
    signal_after(monkeypatch, count, signal.SIGTERM)
    epoch, iteration = 1 + (count - 1) // 4, 1 + (count - 1) % 4
    message = f"interrupted at epoch {epoch}, iteration {iteration}; the next call continues there"
    with pytest.raises(UserError, match=f"^{message}$"):
        train(tmp_path / "stopped", toy_data, changes)
    assert [path.name.split("-")[0] for path in (tmp_path / "stopped").iterdir()] == ["checkpoint"]
    assert equal(train(tmp_path / "stopped", toy_data, changes), undisturbed)
    for name in ("model.safetensors", "history.parquet"):
        same = [(tmp_path / run / name).read_bytes() for run in ("stopped", "undisturbed")]
        assert same[0] == same[1]


@pytest.fixture
def on_ctrl_c():
    """What Ctrl-C does can be set, and is as before afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield functools.partial(signal.signal, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_a_training_in_the_background_ignores_ctrl_c_as_its_shell_has_asked(on_ctrl_c):
    on_ctrl_c(signal.SIG_IGN)
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        interruption.check()


def test_a_warning_of_slurm_is_heard_although_snakemake_ignores_it():
    """As in a job: rules/common.smk ignores SIGUSR1, and what Snakemake starts inherits that."""
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGUSR1)
            with pytest.raises(Interrupted):
                interruption.check()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("on_ctrl_c")
def test_interrupted_after_every_iteration_it_still_comes_to_its_end(
    tmp_path, toy_data, monkeypatch
):
    undisturbed = train(tmp_path / "undisturbed", toy_data, DRAWING)
    for each in range(12):
        with monkeypatch.context() as patch:
            signal_after(patch, 1, [signal.SIGUSR1, signal.SIGINT][each % 2])
            with pytest.raises(UserError, match="interrupted at epoch"):
                train(tmp_path / "stopped", toy_data, DRAWING)
    assert equal(train(tmp_path / "stopped", toy_data, DRAWING), undisturbed)


def test_a_signal_during_an_evaluation_ends_it(tmp_path, toy_data, monkeypatch):
    calls = []

    def signalled(*arguments, **options):
        calls.append(len(calls))
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("continued with the evaluation")
        return score(*arguments, **options)

    score = watched.score
    monkeypatch.setattr(watched, "score", signalled)
    with pytest.raises(UserError, match="interrupted at epoch 2, iteration 4;"):
        train(tmp_path / "stopped", toy_data, SHORT)
    monkeypatch.undo()
    stopped = train(tmp_path / "stopped", toy_data, SHORT)
    assert equal(stopped, train(tmp_path / "undisturbed", toy_data, SHORT))
    assert history(tmp_path / "stopped") == history(tmp_path / "undisturbed")


@pytest.mark.usefixtures("on_ctrl_c")
def test_signals_while_a_checkpoint_is_written_change_nothing(tmp_path, toy_data, monkeypatch):
    """All signals at every stage of each write: of the first epoch's, and of the last one's."""

    def hit(function):
        def wrapped(*arguments):
            for number in SIGNALS:
                os.kill(os.getpid(), number)
            return function(*arguments)

        return wrapped

    for module, name in ((checkpoint.torch, "save"), (os, "fsync"), (os, "replace")):
        monkeypatch.setattr(module, name, hit(getattr(module, name)))
    with pytest.raises(UserError, match="interrupted at epoch 2, iteration 1;"):
        train(tmp_path / "stopped", toy_data, SHORT)
    monkeypatch.undo()
    stopped = train(tmp_path / "stopped", toy_data, SHORT)
    assert equal(stopped, train(tmp_path / "undisturbed", toy_data, SHORT))


def test_a_signal_while_results_are_written_lets_them_be_written(tmp_path, toy_data, monkeypatch):
    def signalled(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        return write_history(*arguments, **options)

    write_history = loop.write_history
    monkeypatch.setattr(loop, "write_history", signalled)
    train(tmp_path, toy_data, SHORT)
    assert len(history(tmp_path)) == 3


def test_handlers_are_those_of_before_afterwards():
    came = []
    before = {number: signal.signal(number, lambda *_: came.append(1)) for number in SIGNALS}
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGTERM)
            assert came == []
            with pytest.raises(Interrupted):
                interruption.check()
        os.kill(os.getpid(), signal.SIGTERM)
        assert came == [1]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_long_epochs_are_kept_by_the_clock(tmp_path, toy_data, monkeypatch):
    """A clock on which every iteration takes four minutes: every third one is kept."""
    minutes = iter(range(0, 10**6, 4))
    now = 0.0

    def step(self, *batch):
        nonlocal now
        now = 60.0 * next(minutes)
        return plain(self, *batch)

    saved = []
    plain, save = loop.Trainer._step, checkpoint.Checkpoint.save
    monkeypatch.setattr(loop.Trainer, "_step", step)
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now)
    monkeypatch.setattr(
        checkpoint.Checkpoint,
        "save",
        lambda self, **parts: (saved.append(parts), save(self, **parts)),
    )
    train(tmp_path, toy_data, {"epochs": 2, "iterations_per_epoch": 8})
    places = [(part["epoch"], part["running"] and part["running"]["iteration"]) for part in saved]
    assert places == [(1, 4), (1, 7), (1, None), (2, 3), (2, 6), (2, None)]


def test_a_checkpoint_holds_every_generator_that_training_may_draw_from(toy_data):
    """Draws of Python, NumPy and torch after an interruption are the same as without it."""
    import random

    import numpy as np
    import torch

    def drawn():
        return random.random(), np.random.rand(), torch.rand(()).item()  # noqa: NPY002

    running, resumed = trainer(toy_data, SHORT), trainer(toy_data, SHORT)
    iterations = running.train_epoch()
    next(iterations)
    state = running.state_dict()
    expected = drawn()
    run_epoch(resumed)
    resumed.load_state_dict(state)
    assert drawn() == expected


@pytest.mark.slow
def test_a_job_that_is_terminated_exits_in_time_and_continues(tmp_path, toy_data):
    """The process itself: its status, its one line, and what the next one makes of it."""
    code = f"""
        import os, signal, sys
        from pathlib import Path
        from dmlbench.errors import UserError
        from dmlbench.training import loop
        step = loop.Trainer._step
        def signalling(self, *batch):
            if self.done == 6:
                os.kill(os.getpid(), signal.SIGUSR1)
            return step(self, *batch)
        loop.Trainer._step = signalling
        folder = Path({str(tmp_path / "stopped")!r})
        data = {{k: Path(v) for k, v in {strings(toy_data)!r}.items()}}
        try:
            loop.train({VALUES | SHORT!r}, **data, device="cpu", threads=1, **{{
                "spec_file": folder / "spec.yaml", "model": folder / "model.safetensors",
                "last": folder / "last.safetensors", "history": folder / "history.parquet"}})
        except UserError as error:
            sys.exit(str(error))
    """
    scripts = Path(loop.__file__).resolve().parents[2]
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | {"PYTHONPATH": str(scripts)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 1, process.stderr
    assert re.fullmatch(
        "interrupted at epoch 2, iteration 3; the next call continues there",
        process.stderr.splitlines()[-1],
    )
    resumed = train(tmp_path / "stopped", toy_data, SHORT)
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data, SHORT))


def strings(data):
    return {key: str(path) for key, path in data.as_arguments().items()}
