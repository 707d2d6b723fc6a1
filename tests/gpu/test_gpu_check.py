"""`make gpu-check` at toy size on the CPU: complete, in two minutes, and able to fail."""

import json
import os
import subprocess
import sys

import pytest
from project import REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"


def check(output, *options):
    return subprocess.run(
        [
            sys.executable,
            BENCHMARKS / "gpu_check.py",
            "--device",
            "cpu",
            "--toy",
            *options,
            "--output",
            output,
        ],
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_all_of_it_runs_at_toy_size(tmp_path):
    done = check(tmp_path / "found.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    parts = {found["part"] for found in report["findings"]}
    assert parts == {
        *("losses", "miners", "metrics", "images", "resuming", "ceiling", "steps", "memory"),
        *("loss share", "library", "input", "evaluation", "together"),
    }
    assert not [found for found in report["findings"] if found["verdict"] == "MISSED"]
    assert len(done.stdout.splitlines()) == len(report["findings"]) + 2


@pytest.mark.slow
def test_the_check_itself_makes_no_mistake_of_device(report):
    import gpu_check
    from pretended_gpu import pretended_gpu

    with pretended_gpu() as gpu:
        found = list(gpu_check.findings(gpu, gpu_check.TOY, ["equal", "losses", "input"]))
    assert [each.line for each in found if each.verdict == "FAILED"] == []
    right = [each for each in found if each.part in ("losses", "miners", "metrics", "images")]
    assert {each.verdict for each in right} == {"ok"}


def test_a_wrong_loss_is_found(report, monkeypatch):
    import gpu_equal
    import torch
    from dmlbench.losses import contrastive

    cpu = torch.device("cpu")
    right = list(gpu_equal.equal_losses(cpu, ["contrastive"]))
    assert {found.verdict for found in right} == {"ok"}
    exact = contrastive.cosine_similarities

    def rounded(x):
        return exact(x) if x.dtype == torch.float64 else 1.01 * exact(x)

    monkeypatch.setattr(contrastive, "cosine_similarities", rounded)
    wrong = list(gpu_equal.equal_losses(cpu, ["contrastive"]))
    assert "MISSED" in {found.verdict for found in wrong}


def test_a_gradient_that_is_no_number_is_found(report, monkeypatch):
    import gpu_equal
    import torch

    whole = gpu_equal._value_and_gradients

    def broken(name, dtype, device):
        value, *gradients = whole(name, dtype, device)
        # The last is that of the proxies, and looked at after the others.
        return [
            value,
            *gradients[:-1],
            gradients[-1] * (1 if dtype == torch.float64 else torch.nan),
        ]

    monkeypatch.setattr(gpu_equal, "_value_and_gradients", broken)
    found = list(gpu_equal.equal_losses(torch.device("cpu"), ["proxy_anchor"]))
    assert [each.verdict for each in found] == ["ok", "MISSED"] * 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")  # the library's histograms
def test_all_losses_of_the_library_take_the_batch_of_a_gpu(report):
    import gpu_check
    import torch

    clock = gpu_check.Clock(torch.device("cpu"), 0)
    found = list(gpu_check.gpu_rates.library_ratios(clock, gpu_check.FULL))
    assert [each.what for each in found if each.verdict == "FAILED"] == []
    assert len(found) > 20


def test_pinned_memory_that_is_given_away_too_early_is_found(report, monkeypatch):
    import gpu_equal
    import torch

    cpu = torch.device("cpu")
    pinned, *_ = gpu_equal.equal_images(cpu)
    assert (pinned.what, pinned.verdict) == ("batches through pinned memory", "ok")
    same = []

    def one_buffer(self, batch):
        same[:] = same or [batch.clone()]
        return same[0].copy_(batch)

    monkeypatch.setattr(gpu_equal.feeds.Feed, "_placed", one_buffer)
    pinned, *_ = gpu_equal.equal_images(cpu)
    assert pinned.verdict == "MISSED"


def test_images_that_a_gpu_is_fed_are_those_of_its_network(report, tmp_path):
    import gpu_input

    store = gpu_input.random_store(tmp_path, side=6, images=5, channels=3)
    assert store.shape == (3, 6, 6)
    assert len(store) == 5
    batch = store.batch([4, 0, 4])
    assert batch.shape == (3, 3, 6, 6)
    assert (batch[0] == batch[2]).all()
    assert (batch[0] != batch[1]).any()


def test_scoring_is_timed_once_its_kernels_are_loaded(report, monkeypatch):
    import gpu_check
    from dmlbench.evaluation.walk import _WORTH_ROUNDING

    sizes = []

    def noted(vectors, labels, **options):
        sizes.append(len(vectors))

    monkeypatch.setattr(gpu_check.gpu_rates, "evaluate", noted)
    full = gpu_check.FULL
    scale = full._replace(
        spaces={name: (size, 2, *rest) for name, (size, _, *rest) in full.spaces.items()}
    )
    clock = gpu_check.Clock(gpu_check.torch.device("cpu"), 0)
    list(gpu_check.gpu_rates.evaluations(clock, scale))
    assert sizes[1::2] == [60_502, 1_000_000]
    assert all(_WORTH_ROUNDING <= size < 30_000 for size in sizes[::2])


@pytest.mark.slow
@pytest.mark.parametrize("batch", [8, "none"])
def test_trainings_at_once_are_started_once_and_ended(report, monkeypatch, batch):
    import gpu_check
    from gpu_sharing import subprocess as processes

    started, start = [], processes.Popen

    def popen(*arguments, **options):
        started.append(start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(processes, "Popen", popen)
    scale = gpu_check.TOY._replace(networks={"convnet4": batch})
    clock = gpu_check.Clock(gpu_check.torch.device("cpu"), 0.05)
    found = gpu_check.gpu_sharing.together(clock, scale)
    if batch == 8:
        assert [each.value > 0 for each in found] == [True] * 3
    else:
        with pytest.raises(ChildProcessError, match="status 1"):
            list(found)
    assert len(started) == 2
    assert all(job.returncode is not None for job in started)


@pytest.mark.slow
def test_without_a_gpu_it_says_what_is_allowed():
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "gpu_check.py"],
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 1
    assert done.stderr == "torch sees no GPU here; allowed: --device cpu --toy\n"
