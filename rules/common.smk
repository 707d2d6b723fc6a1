# Needs:  config/
# Leaves: PLAN, the checked plan, and what the rules of data, runs and searches ask of it. No rules.
import functools
import os
import re
import signal
import sys
from pathlib import Path

# The folder of this repository, also where another workflow uses this one as a module.
HOME = Path(workflow.current_basedir).parent
LIBRARY = HOME / "workflow" / "scripts"
sys.path.insert(0, str(LIBRARY))

from dmlbench import plan
from dmlbench.claims import claim
from dmlbench.errors import UserError, entry
from dmlbench.plan import cluster, combinations, data, naming, searches
from dmlbench.plan import run as runs
from dmlbench.plan.call import check_numbers, check_results, results_folder
from dmlbench.plan.index import FILE, RunIndex
from dmlbench.plan.sources import stage_digest

CONFIG = Path(os.path.relpath(HOME)) / "config"


try:
    RESULTS = results_folder(config)
    check_numbers(workflow.resource_settings.cores, workflow.resource_settings.nodes)
    check_results(RESULTS)
    if workflow.is_main_process:
        PLAN = plan.load_unless_checked(config, CONFIG, Path(RESULTS, ".checked"))
    else:
        PLAN = plan.reload(config, CONFIG)
    NEEDS = cluster.Resources(CONFIG / "resources.yaml")
except UserError as error:
    sys.exit(f"dmlbench: {error}")

# Embeddings that a training leaves for the next rules, which then need no torch.
PREPARED, PREPARED_TRAIN = ".embeddings.parquet", ".train_embeddings.parquet"
RUNS = RunIndex(PLAN, Path(RESULTS, FILE), fresh=workflow.is_main_process)
# Where a file comes from, in a catalogue.
SOURCES = {"urls", "note"}
ENVIRONMENT = f"../envs/{config['environment']}.yaml"

# Before a job's time is over, a cluster sends SIGUSR1 to all of its processes. It is meant for the
# training: without this the Snakemake around it would die, and take the training along.
signal.signal(signal.SIGUSR1, signal.SIG_IGN)


# Seconds of work, or work that a node without internet cannot do: no jobs of a cluster.
localrules:
    download,
    weights,
    split,
    aggregate,
    timings,
    tournament,
    table,
    figure,
    audit_document,
    audit_all,
    agreement_document,
    agreement_all,
    report,
    run_browser,
    document,


wildcard_constraints:
    dataset=r"\w+",
    data=data.FOLDER,
    archive=r"[^/]+",
    file=r"[^/]+",
    size=r"\d+",
    mode=r"\w+",
    split=r"[\w.-]+",
    run=runs.FOLDER,
    combination=runs.FOLDER,
    form="concatenated|separated",
    measure=r"\w+",
    experiment=r"\w+-[0-9a-f]+",
    seed=r"\d+",
    study=r"\w+",
    table=r"\w+",
    figure=r"(?!map_)\w+",
    map=r"\w+",
    search=r"\w+-[0-9a-f]+",
    worker=r"\d+",


def in_one_line(function):
    """The function, ending the call where what it is asked for is not there."""

    @functools.wraps(function)
    def called(asked):
        try:
            return function(asked)
        except UserError as error:
            sys.exit(f"dmlbench: {error}")

    return called


needs_of = in_one_line(NEEDS.of)


@in_one_line
def archive_entry(wildcards):
    archives = entry("data set", wildcards.dataset, PLAN.datasets).archives
    return entry(f"archive of {wildcards.dataset}", wildcards.archive, archives)


@in_one_line
def weights_entry(wildcards):
    return entry("file of weights", wildcards.file, PLAN.weights)


@in_one_line
def data_entry(wildcards):
    return PLAN.find_data(wildcards.data)


@in_one_line
def split_rule(wildcards):
    return PLAN.split_rule(wildcards.split)


@in_one_line
def row_of(wildcards):
    return RUNS.row(wildcards.run)


@in_one_line
def run_of(wildcards):
    return RUNS.find(wildcards.run)


@in_one_line
def combination_of(wildcards):
    return combinations.find(PLAN, wildcards.combination)


@in_one_line
def measure_of(wildcards):
    return entry("measure", wildcards.measure, PLAN.measures)


@in_one_line
def search_of(wildcards):
    name, _, _ = wildcards.search.rpartition("-")
    search = entry("search", name, PLAN.searches)
    folder = searches.folder(PLAN, name)
    if folder != f"searches/{wildcards.search}":
        raise UserError(f"search {wildcards.search}: is now {folder}")
    return search


@in_one_line
def experiment_of(wildcards):
    name, _, _ = wildcards.experiment.rpartition("-")
    return entry("experiment", name, PLAN.experiments)


def archive_of(wildcards):
    """How an archive is recognised."""
    return archive_entry(wildcards).model_dump(exclude=SOURCES)


def weights_of_file(wildcards):
    """How a file of weights is recognised."""
    return weights_entry(wildcards).model_dump(exclude=SOURCES)


# Parameters that are made with the output's help are not compared by Snakemake: a new address is no
# reason to fetch a file again, nor are other counts one to read a data set again.
def sources_of_archive(wildcards, output):
    return archive_entry(wildcards).model_dump(include=SOURCES)


def sources_of_weights(wildcards, output):
    return weights_entry(wildcards).model_dump(include=SOURCES)


def counts_of(wildcards, output):
    """How many images and classes an index must count."""
    return data_entry(wildcards).entry.model_dump(include={"images", "classes"})


def archives_of(wildcards):
    found = data_entry(wildcards)
    if found.entry.folder:
        return [os.path.expanduser(found.entry.folder)]
    if found.entry.generator:
        return ["<results>/data/drawn/{data}.zip"]
    return [f"<results>/data/raw/{found.name}/{name}" for name in found.entry.archives]


def prepared_train(wildcards, output):
    """Where a training leaves the embeddings of its images, if its study measures them."""
    study = PLAN.studies[row_of(wildcards).study]
    measured = "train" in {PLAN.measures[name].role for name in study.measures}
    return f"{RESULTS}/runs/{wildcards.run}/{PREPARED_TRAIN}" if measured else None


def spec_of(wildcards):
    return run_of(wildcards).spec


def threads_of(wildcards):
    return PLAN.threads(spec_of(wildcards))


def weights_input(spec):
    """The file of weights that a training starts from; no input where there is none."""
    weights = spec.network.weights
    return {"weights": f"<results>/weights/{weights.file}"} if weights else {}


def weights_of(wildcards):
    return weights_input(spec_of(wildcards))


def images_input(row, spec):
    """Index, split and packed pixels of a training's images.

    Their folder names what they are, so their dates say nothing about a run.
    """
    folder = f"<results>/data/{PLAN.data(row.dataset).folder}"
    return {
        "index": ancient(f"{folder}/images.parquet"),
        "split": ancient(f"{folder}/splits/{naming.slug(spec.split)}.parquet"),
        **pixels_input(row, spec),
    }


def images_of(wildcards):
    return images_input(row_of(wildcards), spec_of(wildcards))


def pixels_input(row, spec):
    """The packed pixels that a network takes as input."""
    folder = f"<results>/data/{PLAN.data(row.dataset).folder}"
    stem = f"{folder}/pixels-{spec.network.pixels}-{spec.network.mode}"
    return {"pixels": ancient(f"{stem}.npy"), "pixel_table": ancient(f"{stem}.parquet")}


def best_of(wildcards):
    """The best values of the search that a run takes them from; no input for most runs."""
    search = PLAN.search_of(row_of(wildcards))
    return (
        {"best": ancient(f"<results>/{searches.folder(PLAN, search)}/best.yaml")} if search else {}
    )


def searched(name):
    """What a search leaves, as the input of its target by name."""
    return lambda wildcards: f"<results>/{searches.folder(PLAN, name)}/best.yaml"


def name_of_search(wildcards):
    return wildcards.search.rpartition("-")[0]


def search_facts(wildcards):
    return searches.facts(PLAN, name_of_search(wildcards))


def search_state(wildcards):
    """Where the workers of a search share their trials."""
    return f"{RESULTS}/searches/{name_of_search(wildcards)}"


def searched_spec(wildcards):
    return PLAN.spec(search_of(wildcards).tuned)


def searched_images(wildcards):
    return images_input(search_of(wildcards).tuned, searched_spec(wildcards))


def searched_weights(wildcards):
    return weights_input(searched_spec(wildcards))


def workers_of(wildcards):
    """What the workers of a search leave."""
    workers = range(search_of(wildcards).workers)
    return [f"<results>/searches/{wildcards.search}/workers/{worker}.yaml" for worker in workers]


def measured_embeddings(wildcards):
    """The embeddings that a measure looks at: those of training images are a file of their own."""
    role = measure_of(wildcards).role
    file = "train_embeddings" if role == "train" else "embeddings"
    return f"<results>/runs/{{run}}/{file}.parquet"


def combined_embeddings(wildcards):
    runs = combination_of(wildcards).runs
    return [f"<results>/runs/{run.folder}/embeddings.parquet" for run in runs]


def combined_metrics(wildcards):
    return PLAN.metrics(combination_of(wildcards).runs[0])
