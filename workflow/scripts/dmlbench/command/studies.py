"""Commands for studies: each is a call of Snakemake, which is printed, or says where things are."""

import os
from pathlib import Path

import click

from dmlbench.command.types import RANGE
from dmlbench.command.workflow import home, run, snakemake

_CORES = click.option("--cores", default="all", show_default=True, help="CPU cores that are used.")
_PROFILE = click.option("--profile", help="Of profiles/: gpu, slurm.")
_STUDIES = click.argument("targets", nargs=-1, required=True)


def _resources(cores: str, profile: str | None) -> list[str]:
    return ["--profile", f"profiles/{profile}"] if profile else ["--cores", cores]


@click.command()
@_CORES
def demo(cores):
    """Run a small study of drawn data: minutes, no GPU."""
    run("--profile", "profiles/local", "--cores", cores, "demo")
    click.echo(summarized("demo", home()), nl=False)


@click.command()
@click.argument("study")
@_CORES
def raw(study, cores):
    """Score STUDY's features before any training.

    It is the number that training has to beat.
    """
    run("--cores", cores, f"{study}_table_raw")
    table = _made("table", "md", study=study, table="raw")
    click.echo(table.read_text(encoding="utf-8"), nl=False)


@click.command()
@_STUDIES
def plan(targets):
    """Say what TARGETS will take, and do nothing.

    TARGETS are studies, or tables and figures of them, such as demo_table_recall.
    """
    run(*targets, "-nq")


@click.command("run")
@_STUDIES
@_CORES
@_PROFILE
def run_study(targets, cores, profile):
    """Make TARGETS: whole studies, or parts of them.

    A part is a table or a figure, such as demo_table_recall. What is finished is kept.
    """
    run(*_resources(cores, profile), *targets)
    if len(targets) == 1 and _made("aggregate", "scores", study=targets[0]).exists():
        click.echo(summarized(targets[0], home()), nl=False)


@click.command()
@click.argument("study")
@click.argument("loss")
@click.option(
    "--tune",
    multiple=True,
    type=RANGE,
    help="Searched beside the learning rate: loss.margin=0:1, loss.scale=1:64:log.",
)
def extend(study, loss, tune):
    """Add LOSS to a published STUDY.

    The published scores stand for the losses that STUDY has. LOSS is one of config/methods.yaml or
    of yours, and is searched with the budget of the others.
    """
    from dmlbench.plan.new_studies.extended_study import extend as write

    workflow = home()
    files = write(workflow / "config", workflow / "own", study, loss, dict(tune))
    click.echo(f"written: {' '.join(os.path.relpath(file, workflow) for file in files)}")
    click.echo(f"what it takes and can show: dmlbench plan {study}_{loss}")
    click.echo(f"searched, trained, ranked:  dmlbench run {study}_{loss}")


@click.command()
@click.argument("study", required=False)
def status(study):
    """Say what is done, running, failed and left."""
    run("--cores", "1", f"{study}_status" if study else "status")


@click.command()
@click.argument("name")
def forget(name):
    """Remove own/NAME: a study, data set or network.

    Results stay.
    """
    from dmlbench.plan.new_studies.forgotten import forget as remove

    for file in remove(home() / "config", home() / "own", name):
        click.echo(f"removed: {os.path.relpath(file, home())}")
    click.echo(f"its results stay; they are listed by: {snakemake()} --cores 1 unused")


@click.command()
def check():
    """Check packages, GPU, disk, studies and images."""
    from dmlbench.command.checks import checked

    for line in checked(home()):
        click.echo(line)


def summarized(study: str, folder: Path) -> str:
    """A finished study's summary; raises a UserError that says what an unfinished one lacks."""
    from dmlbench import plan
    from dmlbench.errors import UserError, entry
    from dmlbench.plan import paths
    from dmlbench.plan.costs.status_lines import of_one
    from dmlbench.plan.views import pages
    from dmlbench.presentation.terminal import summary
    from dmlbench.training.visible_gpus import visible_gpus

    loaded = plan.load_folder(folder / "config", studies=[study])
    entry("study", study, loaded.studies)
    page = pages.page(loaded, study)
    if not all(Path(file).exists() for file in pages.files(loaded, study)):
        lines = [*of_one(loaded, study, gpu=bool(visible_gpus())), "to finish it:"]
        raise UserError("\n".join([*lines, f"  {snakemake()} --cores all {study}"]))
    report = f"{loaded.configuration.pathvars.results}/{paths.made('report')}"
    steps = [line for why, how in _NEXT for line in (f"{why}:", f"  {how}")]
    return summary(page, report=report, next_steps=steps)


_NEXT = [
    ("real handwriting (a download of 16 MB)", "dmlbench run omniglot"),
    ("one table, and only what it needs", "dmlbench run demo_table_recall"),
    ("your own images", "dmlbench new ~/pictures/mine"),
]


def _made(rule: str, output: str, **wildcards: str) -> Path:
    """An output of a job, in the folder of results that config.yaml names."""
    from dmlbench.plan import paths
    from dmlbench.plan.catalogs.call import results_folder
    from dmlbench.plan.catalogs.read import read_mapping

    results = results_folder(read_mapping(home() / "config" / "config.yaml"))
    return home() / results / paths.made(rule, output, **wildcards)
