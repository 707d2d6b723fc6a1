"""Situations of docs/troubleshooting.md before any job starts: calls and configurations."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dmlbench import locks, plan
from dmlbench.plan.catalogs.call import check_results
from dmlbench.plan.catalogs.job_resources import read_site
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.costs import costs
from dmlbench.plan.new_studies.new_study import Pictures, write_study
from dmlbench.plan.specs.fitting import check_batch
from dmlbench.plan.views.targets import unknown_target
from dmlbench.results_lock import claim
from project import CONFIG, REPOSITORY, load_studies
from situations import Situations

situation = Situations()


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


@situation("each of the … classes")
def _():
    write_study(
        CONFIG,
        Path("own"),
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
    return make(folder, ".venv/ready", f"PYTHON={old}")


@situation("make study is now")
def _(folder):
    return make(folder, "study")


@situation("….claimed: is another")
def _(folder, patch):
    def refused(path):
        raise PermissionError(path)

    patch.setattr(locks, "try_acquire", refused)
    (folder / ".claimed").touch()
    claim(folder)


@situation("…: … classes train")
def _():
    write_study(
        CONFIG,
        Path("own"),
        "mine",
        "convnet3",
        Pictures("mine", "class_folders", "half", [5], [5]),
        lambda network: 8,
    )
