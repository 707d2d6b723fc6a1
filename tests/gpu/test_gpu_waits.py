"""The host does not wait for a pretended GPU, except for what a sampler reads."""

import pretended_gpu as pretended
import pytest
import torch
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.plan.specs.spec import Spec
from dmlbench.training import loop, watch
from dmlbench.training.assembly import assemble
from dmlbench.training.data import read_roles
from gpu_trainings import TRAININGS, train
from pretended_gpu import PretendedTensor, host_waits, pretended_gpu
from toy_training import VALUES, merged


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
