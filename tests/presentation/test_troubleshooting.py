"""docs/troubleshooting.md quotes messages of the code: each situation is reproduced."""

import errno
import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import optuna
import pytest
import torch
from dmlbench import locks, part_files, plan, registry
from dmlbench.data.archives import Archive
from dmlbench.data.download import download
from dmlbench.data.index import index
from dmlbench.data.layouts.class_folders import ClassFolders
from dmlbench.data.pack import pack
from dmlbench.errors import UserError
from dmlbench.evaluation import score
from dmlbench.files import damage_is_named, full_disk_is_a_user_error
from dmlbench.plan import costs
from dmlbench.plan.call import check_results
from dmlbench.plan.cluster import read_site
from dmlbench.plan.fitting import check_batch
from dmlbench.plan.new_study import Pictures, write_study
from dmlbench.plan.read import read_mapping
from dmlbench.plan.targets import unknown_target
from dmlbench.presentation import report
from dmlbench.results_lock import claim
from dmlbench.samplers import Batch
from dmlbench.search.storage import DATABASE, open_study
from dmlbench.search.trials import Trials
from dmlbench.statistics.paired import paired_differences
from dmlbench.training.device import pick_device
from dmlbench.training.memory import out_of_memory_is_a_user_error
from dmlbench.training.objective import Objective
from dmlbench.training.watch import LossWatch, check_gradients, check_steps, check_zero_losses
from PIL import Image
from project import CONFIG, REPOSITORY, load_studies

PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
QUOTED = re.compile(r"^\| (?:``(.+?) ?``|`(.+?)`)(?: after .*?)? \|", re.MULTILINE)

ELSEWHERE = {
    "interrupted at epoch …; the next call continues there": "training/test_interruption.py",
    "The given account … appears to be invalid": "cluster/test_cluster.py",
    "no node has what a job asks for": "cluster/test_cluster.py",
    "Nothing to be done": "project.py",
    "warning: study left out: …": "workflow/test_first_hour.py",
    "warning: data set …: …; what was made of it can be used": "plan/test_own_folder.py",
    "fits rows with several values of network (…); allowed: one": "plan/test_needs.py",
}
"""Quotes of situations that need a training or a cluster -> the file that tests them."""

SITUATIONS = {}
"""Beginning of a quote -> a function that reproduces its situation."""


def situation(beginning):
    return lambda function: SITUATIONS.setdefault(beginning, function)


def quotes() -> list[str]:
    return [double or single for double, single in QUOTED.findall(PAGE)]


def found_in(quote: str, said: str) -> bool:
    """Whether the parts between the dots of a quote occur in this order."""
    return re.search(".*".join(map(re.escape, quote.split("…"))), said, re.DOTALL) is not None


@pytest.mark.slow
@pytest.mark.parametrize("quote", [quote for quote in quotes() if quote not in ELSEWHERE])
def test_a_quote_is_what_the_code_says(quote, request, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(REPOSITORY)
    (bring_about,) = (each for start, each in SITUATIONS.items() if quote.startswith(start))
    context = {"folder": tmp_path, "patch": monkeypatch, "log": caplog, "request": request}
    names = bring_about.__code__.co_varnames[: bring_about.__code__.co_argcount]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            said = str(bring_about(**{name: context[name] for name in names}))
        except UserError as error:
            said = str(error)
            assert "\n" not in said
    said = "\n".join([said, *(str(each.message) for each in warned), *caplog.messages])
    assert found_in(quote, said), said


@pytest.mark.parametrize(("quote", "file"), ELSEWHERE.items())
def test_the_other_quotes_are_tested_elsewhere(quote, file):
    assert quote in quotes()
    tests = (REPOSITORY / "tests" / file).read_text()
    assert all(part.strip() in tests for part in quote.split("…"))


def test_a_wrong_quote_is_found():
    assert found_in("loss is …; ids", "loss is nan in epoch 1; ids of the batch")
    assert not found_in("loss is …; ids", "loss was nan; ids")


@situation("unknown target")
def _():
    raise unknown_target(load_studies("demo"), "demoo", ["demo", "omniglot"])


@situation("target '")
def _():
    loaded = plan.load(read_mapping(CONFIG / "config.yaml") | {"studies": ["demo"]}, Path("config"))
    raise unknown_target(loaded, "omniglot", [])


def said_by_snakemake(*options):
    command = [sys.executable, "-m", "snakemake", *options]
    own = os.environ | {"SLURM_CONF": os.devnull}
    return subprocess.run(command, cwd=REPOSITORY, env=own, capture_output=True, text=True).stderr


@situation("argument --quiet/-q")
def _():
    return said_by_snakemake("-nq", "demo")


@situation("Error: profile directory given (gpu)")
def _():
    return said_by_snakemake("--profile", "gpu", "demo", "-n")


@situation("config/studies/train.yaml")
def _(folder, patch):
    shutil.copytree(CONFIG, folder / "config")
    patch.chdir(folder)
    shutil.copy(CONFIG / "studies" / "demo.yaml", "config/studies/train.yaml")
    plan.load(read_mapping(CONFIG / "config.yaml") | {"studies": ["train"]}, Path("config"))


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


@situation("each of the … classes")
def _():
    write_study(
        CONFIG,
        "mine",
        "convnet3",
        Pictures("mine", "class_folders", "half", [1] * 4, []),
        lambda network: 8,
    )


@situation("device: 'gpu'")
def _():
    load_studies("demo", device="gpu")


@situation("unknown key")
def _(folder):
    shutil.copytree(CONFIG, folder / "config")
    file = folder / "config" / "recipes.yaml"
    file.write_text(file.read_text().replace("learning_rate: 0.003", "learning_rat: 0.003"))
    plan.load(read_mapping(CONFIG / "config.yaml") | {"studies": ["demo"]}, folder / "config")


@situation("key '")
def _(folder):
    (folder / "config.yaml").write_text("device: cpu\nremove: false\ndevice: cuda\n")
    read_mapping(folder / "config.yaml")


@situation("batch_size is")
def _():
    check_batch({"name": "class_balanced", "images_per_class": 5}, 64)


@situation("pathvars.results")
def _(folder):
    (folder / "file").touch()
    check_results(str(folder / "file" / "results"))


@situation("… is at work here")
def _(folder):
    claim(folder)
    claim(folder)


@situation("will not fit")
def _():
    loaded = load_studies("can2019", gpu_memory=2)
    row = loaded.rows("can2019")[0]
    return costs.too_large(loaded, costs.Ahead({loaded.run(row): row}))


@situation("profiles/slurm/site.yaml")
def _():
    read_site(Path("profiles/slurm/site.yaml"))


def make(folder: Path, *arguments: str) -> str:
    """The output of make in a folder without an environment."""
    shutil.copy(REPOSITORY / "Makefile", folder)
    (folder / "requirements.lock").touch()
    done = subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode != 0
    return done.stdout + done.stderr


@situation("dmlbench needs Python")
def _(folder):
    old = folder / "python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.0\nexit 1\n')
    old.chmod(0o755)
    return make(folder, "environment", f"PYTHON={old}")


@situation("name your folder")
def _(folder):
    return make(folder, "-o", ".venv/ready", "study")


@situation("…: no source works")
def _(folder):
    download("a.zip", [], None, [str(folder)], [], folder / "out" / "a.zip")


@situation("expected sha256")
def _(folder):
    (folder / "a.zip").write_text("an error page")
    download("a.zip", [], 64 * "0", [str(folder)], [], folder / "out" / "a.zip")


@situation("…: neither a zip nor a tar")
def _(folder):
    (folder / "a.zip").write_text("half of it")
    Archive(folder / "a.zip")


def pictures(folder: Path, *names: str) -> Path:
    """A folder with a picture at each of these places."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8)).save(folder / name)
    return folder


@situation("expected … images")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    index([made], "class_folders", folder / "images.parquet", images=3, classes=2)


@situation("… damaged image")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    (made / "b" / "1.png").write_bytes(b"no picture")
    index([made], "class_folders", folder / "images.parquet")


@situation("…: has changed since this call began")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    index([made], "class_folders", folder / "images.parquet", contents="another")


@situation("… has changed since it was indexed")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    index([made], "class_folders", folder / "index")
    Image.new("L", (2, 2), 9).save(made / "b" / "1.png")
    pack(folder / "index", [made], None, "gray", folder / "p.npy", folder / "p.parquet")


@situation("…' is a link to")
def _(folder):
    made = pictures(folder / "mine", "a/1.png")
    (made / "a" / "2.png").symlink_to(folder / "gone.png")
    Archive(made)


@situation("no value in the images of 16 bits")
def _(folder):
    made = pictures(folder / "mine", "a/1.png")
    Image.fromarray(np.array([[9, 4095]], dtype=np.uint16)).save(made / "a" / "1.png")
    index([made], "class_folders", folder / "index")
    pack(folder / "index", [made], None, "gray", folder / "p.npy", folder / "p.parquet")


@situation("….claimed: is another")
def _(folder, patch):
    def refused(path):
        raise PermissionError(path)

    patch.setattr(locks, "try_acquire", refused)
    (folder / ".claimed").touch()
    claim(folder)


@situation("refused, for")
def _(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("../out.png", b"")
    Archive(folder / "a.zip")


@situation("…: … classes train")
def _():
    write_study(
        CONFIG,
        "mine",
        "convnet3",
        Pictures("mine", "class_folders", "half", [5], [5]),
        lambda network: 8,
    )


@situation("its folders are")
def _(folder):
    ClassFolders()([Archive(pictures(folder / "mine", "train/a/1.png", "test/a/1.png"))])


@situation("has folders in folders")
def _(folder):
    ClassFolders()([Archive(pictures(folder / "mine", "birds/a/1.png", "cats/1.png"))])


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
    with full_disk_is_a_user_error(folder):
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


@situation("the database of searches")
def _(folder, patch):
    patch.setenv(DATABASE, "nosuch://user:secret@host/name")
    open_study(folder / "mine" / "state", "mine")


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
