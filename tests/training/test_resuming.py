"""A killed run loses nothing, and a checkpoint is never mistaken for another."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.training import checkpoint, loop
from dmlbench.training.checkpoint import Checkpoint
from dmlbench.training.checkpoint_cleanup import remove_checkpoints
from hypothesis import given
from hypothesis import strategies as st
from toy_training import GREEDY_CORESET, VALUES, equal, history, train


class KilledError(Exception):
    """Simulates the end of a process between two epochs."""


MEMORY = {"loss": {"name": "margin", "beta": 0.9}, "memory": {"size": 50, "start": 3}}


@pytest.mark.parametrize(
    ("epoch", "changes"), [(1, {}), (3, {}), (2, {"sampler": GREEDY_CORESET}), (2, MEMORY)]
)
def test_a_stopped_run_continues_to_the_same_weights(tmp_path, toy_data, epoch, changes):

    def stop(running):
        if running.epoch == epoch:
            raise KilledError

    with pytest.raises(KilledError):
        train(tmp_path / "stopped", toy_data, changes, after_epoch=stop)
    assert not (tmp_path / "stopped" / "model.safetensors").exists()
    seen = []
    resumed = train(
        tmp_path / "stopped",
        toy_data,
        changes,
        after_epoch=lambda running: seen.append(running.epoch),
    )
    assert seen == list(range(epoch + 1, 5))
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data, changes))
    assert history(tmp_path / "stopped") == history(tmp_path / "undisturbed")
    same = [
        (tmp_path / run / "model.safetensors").read_bytes() for run in ("stopped", "undisturbed")
    ]
    assert same[0] == same[1]


def test_a_run_killed_by_the_system_continues_to_the_same_weights(tmp_path, toy_data):
    """SIGKILL leaves no chance to tidy up; it comes in the middle of the third epoch."""
    code = f"""
        import os, signal
        from pathlib import Path
        from dmlbench.training import checkpoint, loop
        step, count = loop.Trainer._step, 0
        def counting(self, *batch):
            if self.epoch == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(self, *batch)
        loop.Trainer._step = counting
        folder = Path({str(tmp_path / "killed")!r})
        data = {{k: Path(v) for k, v in {dict(map_str(toy_data))!r}.items()}}
        loop.train({VALUES!r}, **data, device="cpu", threads=1, **{{
            "spec_file": folder / "spec.yaml", "model": folder / "model.safetensors",
            "last": folder / "last.safetensors", "history": folder / "history.parquet"}})
    """
    scripts = Path(loop.__file__).resolve().parents[2]
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | {"PYTHONPATH": str(scripts)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    resumed = train(tmp_path / "killed", toy_data)
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data))


def map_str(data):
    return ((key, str(path)) for key, path in data.as_arguments().items())


def test_ctrl_c_leaves_nothing_half_written_and_the_checkpoint(tmp_path, toy_data, monkeypatch):
    step = loop.Trainer._step

    def interrupted(self, *batch):
        if self.epoch == 2:
            raise KeyboardInterrupt
        return step(self, *batch)

    monkeypatch.setattr(loop.Trainer, "_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, toy_data)
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["checkpoint"]
    monkeypatch.undo()
    assert equal(train(tmp_path, toy_data), train(tmp_path / "undisturbed", toy_data))


def test_a_checkpoint_of_another_spec_is_not_taken(tmp_path, toy_data):
    def stop(running):
        raise KilledError

    with pytest.raises(KilledError):
        train(tmp_path, toy_data, after_epoch=stop)
    longer = train(tmp_path, toy_data, {"optimizer": {"learning_rate": 0.02}})
    fresh = train(tmp_path / "fresh", toy_data, {"optimizer": {"learning_rate": 0.02}})
    assert equal(longer, fresh)
    remove_checkpoints(tmp_path)
    assert not list(tmp_path.glob("checkpoint-*"))


def test_lost_results_are_made_again_without_an_iteration(tmp_path, toy_data):
    def count(running):
        epochs.append(running.epoch)

    epochs = []
    first = train(tmp_path, toy_data, after_epoch=count)
    assert epochs == [1, 2, 3, 4]
    results = [path for path in tmp_path.iterdir() if path.suffix != ".pt"]
    before = {path.name: path.read_bytes() for path in results}
    for path in results:
        path.unlink()
    assert equal(first, train(tmp_path, toy_data, after_epoch=count))
    assert epochs == [1, 2, 3, 4]
    assert before == {path.name: path.read_bytes() for path in results}


def test_a_checkpoint_with_a_foreign_inside_is_not_taken(tmp_path, caplog):
    Checkpoint(tmp_path, "another").save(epoch=1)
    (foreign,) = tmp_path.iterdir()
    foreign.rename(Checkpoint(tmp_path, "one").path)
    assert Checkpoint(tmp_path, "one").load() is None
    assert "of another training: starting over" in caplog.text


def test_a_resume_under_other_conditions_is_labeled_in_one_line(tmp_path, caplog):
    for conditions in ("1 threads", "1 threads", "2 threads"):
        checkpoint = Checkpoint(tmp_path, "one", conditions)
        checkpoint.load()
        checkpoint.save(epoch=1)
    assert checkpoint.computed_by == ["1 threads", "2 threads"]
    (line,) = caplog.messages
    assert line == (
        "resumed under other conditions, so its last digits are those of neither: 2 threads; "
        "before: 1 threads"
    )
    # A third call under the second conditions adds none.
    assert Checkpoint(tmp_path, "one", "2 threads").load() == {"epoch": 1}


def test_a_checkpoint_of_another_format_is_not_taken(tmp_path, monkeypatch):
    Checkpoint(tmp_path, "one").save(epoch=1)
    assert Checkpoint(tmp_path, "one").load() == {"epoch": 1}
    monkeypatch.setattr(checkpoint, "FORMAT", checkpoint.FORMAT + 1)
    assert Checkpoint(tmp_path, "one").load() is None


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_checkpoint_is_not_taken_and_one_line_says_so(tmp_path, share, caplog):
    checkpoint = Checkpoint(tmp_path, "one")
    checkpoint.save(epoch=1, weights=torch.ones(100_000))
    written = checkpoint.path.read_bytes()
    checkpoint.path.write_bytes(written[: int(share * len(written))])
    assert checkpoint.load() is None
    (line,) = caplog.messages
    assert line.startswith(f"{checkpoint.path}: damaged")
    assert "\n" not in line


@given(place=st.integers(0, 10**9), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_in_a_checkpoint_is_seen(tmp_path_factory, place, bit):
    checkpoint = Checkpoint(tmp_path_factory.mktemp("flipped"), "one")
    checkpoint.save(epoch=1, weights=torch.ones(100))
    written = bytearray(checkpoint.path.read_bytes())
    written[place % len(written)] ^= 1 << bit
    checkpoint.path.write_bytes(written)
    assert checkpoint.load() is None


def test_training_starts_over_from_a_damaged_checkpoint(tmp_path, toy_data):
    def stop(running):
        raise KilledError

    with pytest.raises(KilledError):
        train(tmp_path / "damaged", toy_data, after_epoch=stop)
    (file,) = (tmp_path / "damaged").iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    again = train(tmp_path / "damaged", toy_data)
    assert equal(again, train(tmp_path / "undisturbed", toy_data))


def test_a_full_disk_stops_with_one_line_and_keeps_the_last_checkpoint(
    tmp_path, toy_data, monkeypatch
):
    monkeypatch.setattr(os, "fsync", failing_after(os.fsync, 2))
    with pytest.raises(UserError, match="the disk is full"):
        train(tmp_path, toy_data)
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["checkpoint"]
    monkeypatch.undo()
    assert equal(train(tmp_path, toy_data), train(tmp_path / "undisturbed", toy_data))


def failing_after(function, calls):
    """A function that works so many times and then finds the disk full."""
    counted = iter(range(calls))

    def wrapped(*arguments):
        if next(counted, None) is None:
            raise OSError(28, "No space left on device")
        return function(*arguments)

    return wrapped
