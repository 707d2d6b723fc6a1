"""Situations of docs/troubleshooting.md in trainings, searches and what is made of them."""

import errno
import logging
import os
import subprocess

import numpy as np
import optuna
import torch
from dmlbench import part_files, registry
from dmlbench.evaluation import score
from dmlbench.files import damage_is_named, limits_are_named
from dmlbench.presentation import report
from dmlbench.samplers import Batch
from dmlbench.search.trials import Trials
from dmlbench.statistics.paired import paired_differences
from dmlbench.training.device import pick_device
from dmlbench.training.memory import out_of_memory_is_a_user_error
from dmlbench.training.objective import Objective
from dmlbench.training.watch import LossWatch, check_gradients, check_steps, check_zero_losses
from project import load_studies
from situations import Situations

situation = Situations()


@situation("….py: line …")
def _(folder, patch):
    own_loss(folder, patch, "def forward(:")


@situation("… is a positional argument")
def _(folder, patch):
    own_loss(folder, patch, "class Mine:\n    def __init__(self, margin=0.1): pass\n")


def own_loss(folder, patch, text):
    """Check a loss of one's own, which has this text."""
    (folder / "losses").mkdir()
    (folder / "losses" / "mine.py").write_text(text)
    patch.setattr(part_files, "_LIBRARY", folder)
    patch.setattr(part_files, "available", lambda package: ["mine"])
    registry.check_options("losses", "mine", {"margin": 0.2})


@situation("died with <Signals.SIGKILL: 9>")
def _():
    return subprocess.CalledProcessError(-9, "train")


@situation("loss …: returns")
def _():
    loss = torch.nn.CosineSimilarity()
    Objective(torch.nn.Identity(), loss)(Batch(np.arange(3)), torch.ones(3, 2), torch.ones(3, 2))


@situation("device: 'cuda'")
def _(patch):
    patch.setattr(torch.cuda, "is_available", lambda: False)
    pick_device("cuda")


@situation("out of memory")
def _():
    loaded = load_studies("demo")
    with out_of_memory_is_a_user_error(loaded.spec(loaded.rows("demo")[1])):
        raise torch.OutOfMemoryError


@situation("…: the disk is full")
def _(folder):
    with limits_are_named(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@situation("loss is nan")
def _():
    watch = LossWatch(lambda iteration: f"in iteration {iteration}")
    watch.add(np.arange(2), torch.tensor(float("nan")))
    watch.look()


@situation("loss is 0 in all iterations of the first")
def _():
    check_zero_losses([1.0], is_idle=True, has_passed=True)


@situation("loss is …")
def _():
    check_gradients([5.0], is_idle=True, has_passed=True)


@situation("the state of …")
def _():
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.Adam([weight])
    weight.grad = torch.full((1,), 1e30)
    optimizer.step()
    check_steps(optimizer)


@situation("loss is 0 in all iterations of epoch")
def _(log):
    with log.at_level(logging.WARNING):
        check_zero_losses([0.5, 1.0], is_idle=False, has_passed=True)


@situation("…: damaged or incomplete")
def _(folder):
    with damage_is_named(folder / "scores.parquet"):
        raise EOFError


@situation("search …:")
def _(folder):
    study = optuna.create_study()
    problem = {"problem": "loss is nan"}
    failed = optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL, user_attrs=problem)
    study.add_trials(10 * [failed])
    with Trials("mine", study, {}, folder, budget=20, most_failed=0.5).claimed(None):
        pass


@situation("… queries have no other image")
def _():
    score(np.eye(3), [0, 0, 1], metrics=["recall_at_1"])


@situation("with exact ties broken")
def _():
    score(np.ones((4, 2)), [0, 0, 1, 1], metrics=["recall_at_1"])


@situation("no scores of variant")
def _(request):
    scores = request.getfixturevalue("synthetic_scores")(dims=[64])
    scores = scores[scores["role"].eq("test") & scores["selection"].eq("last_epoch")]
    paired_differences(scores, {"": "another"}, between="variant")


@situation("most had not converged")
def _(request, folder, patch):
    patch.setattr(report, "endings", lambda found: {"watched": 3, "last": 2})
    study = request.getfixturevalue("study") | {"browser": "runs.html"}
    report.report([study], folder / "results" / "report.html")
    return (folder / "results" / "report.html").read_text()
