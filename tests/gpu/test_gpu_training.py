"""Trainings on a pretended GPU give the CPU's weights, also after a kill; so does embedding."""

import pyarrow.parquet as pq
import pytest
import torch
from dmlbench.data.pixels import Pixels
from dmlbench.samplers import available as samplers
from dmlbench.samplers import build_sampler
from dmlbench.samplers._batch import LearnsFromEmbeddings
from dmlbench.training import epoch, loop, seeds
from dmlbench.training import objective as objectives
from dmlbench.training.export import export_embeddings
from dmlbench.training.extraction import extract_features
from dmlbench.training.gpus import RUNS_PER_GPU
from gpu_trainings import TRAININGS, train
from pretended_gpu import PretendedTensor, pretended_gpu
from toy_training import VALUES, equal, history, merged, outputs

KILLED = ["proxies", "random tuples", "profs_hncm", "greedy_coreset", "proximity", "mixup"]


class KilledError(Exception):
    """Stands for what ends a process."""


def close(mine, reference):
    assert mine.keys() == reference.keys()
    for name in reference:
        # Optimizers group their updates there.
        torch.testing.assert_close(mine[name], reference[name], rtol=1e-4, atol=1e-6)


def hold(tmp_path, data, changes, resident=True):
    """Raise unless the weights and the history are the CPU's."""
    here = train(tmp_path / "here", data, changes)
    seen = []

    def look(trainer):
        seen.extend(type(parameter.data) for parameter in trainer.parameters)

    with pretended_gpu(free=1 << 30 if resident else 0):
        there = train(tmp_path / "there", data, changes, device="cuda", after_epoch=look)
    assert set(seen) == {PretendedTensor}
    close(there, here)
    for mine, reference in zip(
        history(tmp_path / "there"), history(tmp_path / "here"), strict=True
    ):
        assert mine == pytest.approx(reference, rel=1e-3, nan_ok=True)


@pytest.mark.parametrize(
    "name",
    ["proxies", *(pytest.param(n, marks=pytest.mark.slow) for n in TRAININGS if n != "proxies")],
)
def test_a_training_is_the_same_there(tmp_path, toy_data, name):
    hold(tmp_path, toy_data, TRAININGS[name])


def test_a_training_from_pinned_memory_is_the_same_there(tmp_path, toy_data):
    hold(tmp_path, toy_data, {}, resident=False)


def test_every_sampler_that_remembers_is_tried_here():
    labels = [number // 10 for number in range(100)]
    options = {"batch_size": 20, "seed": 0}
    learning = {
        name
        for name in samplers()
        if isinstance(build_sampler(name, labels, **options), LearnsFromEmbeddings)
    }
    tried = {changes.get("sampler", {}).get("name") for changes in TRAININGS.values()}
    assert learning <= tried


def hold_after_a_kill(folder, data, changes):
    """Raise unless a training that is killed within its second epoch ends as if it were not."""
    step = loop.Trainer._step

    def killed(self, *batch):
        if self.done == 8:
            raise KilledError
        return step(self, *batch)

    with pretended_gpu():
        whole = train(folder / "whole", data, changes, device="cuda")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop.Trainer, "_step", killed)
            # Due at once, so that it is written within the epoch.
            patch.setattr(loop.Checkpoint, "is_due", True)
            with pytest.raises(KilledError):
                train(folder / "killed", data, changes, device="cuda")
        resumed = train(folder / "killed", data, changes, device="cuda")
    assert equal(resumed, whole)
    assert history(folder / "killed") == history(folder / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED)
def test_a_killed_training_continues_there(tmp_path, toy_data, name):
    hold_after_a_kill(tmp_path, toy_data, TRAININGS[name])


def test_reduced_precision_trains_there(tmp_path, toy_data):
    with pretended_gpu():
        weights = train(tmp_path, toy_data, {"precision": "bfloat16"}, device="cuda")
    assert all(value.isfinite().all() for value in weights.values())
    losses = [row["loss"] for row in history(tmp_path)]
    assert losses[-1] < losses[0]


def test_the_history_names_the_gpu(tmp_path, toy_data):
    with pretended_gpu():
        train(tmp_path, toy_data, {}, device="auto")
    assert b"pretended GPU" in b" ".join(
        pq.read_metadata(tmp_path / "history.parquet").metadata.values()
    )


def embedded(folder, data, device):
    """What the training in a folder makes of the images."""
    files = {name: outputs(folder)[name] for name in ("model", "last")}
    values = merged(VALUES, {"epochs": 2, "iterations_per_epoch": 5})
    output = folder / f"{device}.parquet"
    export_embeddings(
        values, **files, **data.as_arguments(), threads=1, device=device, output=output
    )
    return pq.read_table(output)


def test_images_are_embedded_the_same_there(tmp_path, toy_data):
    train(tmp_path, toy_data, {})
    here = embedded(tmp_path, toy_data, "cpu")
    with pretended_gpu():
        there = embedded(tmp_path, toy_data, "cuda")
    assert here.equals(there)


@pytest.mark.parametrize(("runs", "resident"), [(1, True), (4, False)])
def test_jobs_that_share_a_gpu_leave_each_other_room(
    tmp_path, toy_data, monkeypatch, runs, resident
):
    images, place, kept = toy_data.as_arguments(), Pixels.to, []
    room = 4 * Pixels(images["pixels"], images["pixel_table"]).bytes
    monkeypatch.setattr(Pixels, "to", lambda *where: kept.append(where) or place(*where))
    monkeypatch.setenv(RUNS_PER_GPU, str(runs))
    with pretended_gpu(free=room, total=room):
        train(tmp_path, toy_data, {}, device="cuda")
        assert bool(kept) == resident
        kept.clear()
        embedded(tmp_path, toy_data, "cuda")
        assert bool(kept) == resident
        kept.clear()
        extract_features(
            VALUES["network"] | {"frozen": []},
            pixels=toy_data.pixels,
            pixel_table=toy_data.pixel_table,
            device="cuda",
            threads=1,
            output=tmp_path / "features.safetensors",
        )
        assert bool(kept) == resident


def labels_on_the_cpu(monkeypatch):
    step = loop.Trainer._step
    monkeypatch.setattr(
        loop.Trainer, "_step", lambda self, batch, x, y: step(self, batch, x, y.cpu())
    )


def mask_on_the_cpu(monkeypatch):
    mask = objectives._mask
    monkeypatch.setattr(objectives, "_mask", lambda batch, device: mask(batch, "cpu"))


@pytest.mark.parametrize(
    ("mistake", "name"), [(labels_on_the_cpu, "proxies"), (mask_on_the_cpu, "profs")]
)
def test_a_mistake_is_found(monkeypatch, tmp_path, toy_data, mistake, name):
    mistake(monkeypatch)
    with pytest.raises((RuntimeError, ValueError, AssertionError)):
        hold(tmp_path, toy_data, TRAININGS[name])


def test_forgotten_random_numbers_of_the_gpu_are_found(monkeypatch, tmp_path, toy_data):
    whole = seeds.random_state
    monkeypatch.setattr(epoch, "random_state", lambda: whole() | {"cuda": None})
    with pytest.raises(AssertionError):
        hold_after_a_kill(tmp_path, toy_data, TRAININGS["random tuples"])


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_only_a_spec_that_asks_for_tf32_gets_it(tmp_path, toy_data, precision):
    seen = []

    def look(trainer):
        seen.append((torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32))

    changes = {"precision": precision, "epochs": 1, "iterations_per_epoch": 1}
    with pretended_gpu():
        train(tmp_path, toy_data, changes, device="cuda", after_epoch=look)
    assert seen == [(precision == "tf32",) * 2]


def test_tf32_is_float32_where_there_is_none(tmp_path, toy_data):
    plain, tf32 = (
        train(tmp_path / name, toy_data, {"precision": name, "epochs": 1})
        for name in ("float32", "tf32")
    )
    assert equal(plain, tf32)
