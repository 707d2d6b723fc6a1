"""Trainings on a pretended GPU give the CPU's weights, also after a kill; so does embedding."""

import pretended_gpu as pretended
import pyarrow.parquet as pq
import pytest
import torch
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.plan.spec import Spec
from dmlbench.samplers import available as samplers
from dmlbench.samplers import build_sampler
from dmlbench.samplers._batch import LearnsFromEmbeddings
from dmlbench.training import epoch, loop, seeds, watch
from dmlbench.training import objective as objectives
from dmlbench.training.assembly import assemble
from dmlbench.training.data import read_roles
from dmlbench.training.export import export_embeddings
from pretended_gpu import PretendedTensor, host_waits, pretended_gpu
from safetensors.torch import load_file
from toy_training import VALUES, equal, history, merged, outputs

MINED = {"loss": {"name": "triplet", "margin": 0.1}, "miner": {"name": "semi_hard_random"}}
PROFS = {"name": "profs", "images_per_class": 4}
TRAININGS = {
    "proxies": {},
    "random tuples": MINED,
    "exchanged tuples": MINED | {"regularizers": [{"name": "rho", "p_switch": 0.5}]},
    "mixup": {"regularizers": [{"name": "manifold_mixup"}]},
    "proximity": {"regularizers": [{"name": "proximity", "weight": 10.0}]},
    "unnormalized": {
        "normalize": False,
        "loss": {"name": "n_pair"},
        "regularizers": [{"name": "embedding_l2"}],
    },
    "sgd, clipped": {
        "optimizer": {"name": "sgd", "momentum": 0.9, "learning_rate": 0.01},
        "clip_value": 0.01,
    },
    "rmsprop, warmup": {
        "optimizer": {"name": "rmsprop", "learning_rate": 0.01},
        "warmup_epochs": 1,
    },
    "adam, schedule": {
        "optimizer": {"name": "adam", "learning_rate": 0.01},
        "schedule": {"step": 1, "gamma": 0.5},
    },
    "fused": {"optimizer": {"fused": True}},
    "profs": MINED | {"sampler": PROFS},
    "profs, soft triple": {"loss": {"name": "soft_triple"}, "sampler": PROFS},
    "profs_hncm": MINED | {"sampler": {"name": "profs_hncm", "images_per_class": 4}},
    "profs_hncm, soft triple": {
        "loss": {"name": "soft_triple"},
        "sampler": {"name": "profs_hncm", "images_per_class": 4},
        "regularizers": [{"name": "proximity", "weight": 1.0}],
    },
    "greedy_coreset": {"sampler": {"name": "greedy_coreset", "pool_size": 40}},
    "greedy_coreset, groups": {
        "sampler": {"name": "greedy_coreset", "pool_size": 40, "group_size": 2}
    },
    "distance_distribution": {"sampler": {"name": "distance_distribution", "pool_size": 40}},
    "distance_distribution, groups": {
        "sampler": {"name": "distance_distribution", "pool_size": 40, "group_size": 2}
    },
    "frd": {"sampler": {"name": "frd", "pool_size": 40}},
    "frd, groups": {"sampler": {"name": "frd", "pool_size": 40, "group_size": 2}},
}
KILLED = ["proxies", "random tuples", "profs_hncm", "greedy_coreset", "proximity", "mixup"]


class KilledError(Exception):
    """Stands for what ends a process."""


def train(folder, data, changes, device="cpu", **arguments):
    values = merged(VALUES, {"epochs": 2, "iterations_per_epoch": 5} | changes)
    loop.train(
        values, **data.as_arguments(), **outputs(folder), device=device, threads=1, **arguments
    )
    return load_file(folder / "last.safetensors")


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


def waits_for_an_iteration(data, changes, resident=True):
    """For what the host waits in the sixth to tenth iteration, each time once on average."""
    spec = Spec.model_validate(merged(VALUES, {"iterations_per_epoch": 15} | changes))
    roles = read_roles(data.index, data.split, spec.fold)
    with pretended_gpu(free=1 << 30 if resident else 0) as gpu:
        feed = Feed(Pixels(data.pixels, data.pixel_table), gpu)
        steps = assemble(spec, feed, roles, gpu).train_epoch()
        for _ in range(5):
            next(steps)
        with host_waits() as waits:
            for _ in range(5):
                next(steps)
        steps.close()
    return len(waits) / 5


# How often a sampler reads embeddings of a batch before it draws the next one.
READS = {name: 1 for name in TRAININGS if TRAININGS[name].get("sampler")}
READS |= {"profs": 0, "profs, soft triple": 0, "profs_hncm": 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_the_host_waits_only_for_what_a_sampler_reads(toy_data, name):
    assert waits_for_an_iteration(toy_data, TRAININGS[name]) == READS.get(name, 0)


def test_the_host_does_not_wait_for_pinned_memory(toy_data):
    assert waits_for_an_iteration(toy_data, {}, resident=False) == 0


def test_a_wait_of_the_host_is_found(monkeypatch, toy_data):
    def seen(self, ids, loss):
        self.values.append(float(loss.detach()))

    monkeypatch.setattr(watch.LossWatch, "add", seen)
    assert waits_for_an_iteration(toy_data, {}) == 1


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


def test_images_are_embedded_the_same_there(tmp_path, toy_data):
    train(tmp_path, toy_data, {})
    files = {name: outputs(tmp_path)[name] for name in ("model", "last")}
    common = {**files, **toy_data.as_arguments(), "threads": 1}
    values = merged(VALUES, {"epochs": 2, "iterations_per_epoch": 5})
    export_embeddings(values, **common, device="cpu", output=tmp_path / "here.parquet")
    with pretended_gpu():
        export_embeddings(values, **common, device="cuda", output=tmp_path / "there.parquet")
    here, there = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("here", "there"))
    assert here.equals(there)


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


def waits(monkeypatch, folder, data, changes):
    """Copies to the GPU in an epoch of training for which the host would wait."""
    found, run, epoch = [], pretended._run, loop.Trainer.train_epoch
    trains = False

    def watched(function, args, kwargs, drawing):
        if trains and function.overloadpacket is torch.ops.aten._to_copy:
            there = torch.device(kwargs.get("device") or "cpu").type == "cuda"
            if there and not isinstance(args[0], PretendedTensor) and not kwargs["non_blocking"]:
                found.append(args[0].shape)
        return run(function, args, kwargs, drawing)

    def training(self):
        nonlocal trains
        trains = True
        yield from epoch(self)
        trains = False

    monkeypatch.setattr(pretended, "_run", watched)
    monkeypatch.setattr(loop.Trainer, "train_epoch", training)
    with pretended_gpu():
        train(folder, data, changes | {"epochs": 1}, device="cuda")
    return found


JITTER = {"transforms": {"train": [{"name": "color_jitter", "brightness": 0.2, "contrast": 0.2}]}}


@pytest.mark.parametrize("changes", [{}, JITTER, TRAININGS["profs"]], ids=str)
def test_no_batch_makes_the_host_wait_for_the_gpu(monkeypatch, tmp_path, toy_data, changes):
    assert waits(monkeypatch, tmp_path, toy_data, changes) == []


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
