# Needs:  config/
# Leaves: PLAN, the checked plan, and what the rules of data, runs and searches ask of it. No rules.
import os
import signal
import sys
from pathlib import Path

LIBRARY = Path(workflow.basedir) / "workflow" / "scripts"
sys.path.insert(0, str(LIBRARY))

from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.files import claim
from dmlbench.plan import cluster, combinations, data, naming, searches
from dmlbench.plan import run as runs
from dmlbench.plan.index import FILE, RunIndex
from dmlbench.plan.sources import stage_digest

CONFIG = Path(os.path.relpath(workflow.basedir)) / "config"
RESULTS = config["pathvars"]["results"]


try:
    load = plan.load if workflow.is_main_process else plan.reload
    PLAN = load(config, CONFIG)
    NEEDS = cluster.Resources(CONFIG / "resources.yaml")
except UserError as error:
    sys.exit(f"dmlbench: {error}")

# Embeddings that a training leaves for the next rule, which then needs no torch.
PREPARED = ".embeddings.parquet"
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
    report,


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


def archive_of(wildcards):
    """How an archive is recognised."""
    return PLAN.datasets[wildcards.dataset].archives[wildcards.archive].model_dump(exclude=SOURCES)


def weights_of_file(wildcards):
    """How a file of weights is recognised."""
    return PLAN.weights[wildcards.file].model_dump(exclude=SOURCES)


# Parameters that are made with the output's help are not compared by Snakemake: a new address is no
# reason to fetch a file again, nor are other counts one to read a data set again.
def sources_of_archive(wildcards, output):
    return PLAN.datasets[wildcards.dataset].archives[wildcards.archive].model_dump(include=SOURCES)


def sources_of_weights(wildcards, output):
    return PLAN.weights[wildcards.file].model_dump(include=SOURCES)


def counts_of(wildcards, output):
    """How many images and classes an index must count."""
    return PLAN.find_data(wildcards.data).entry.model_dump(include={"images", "classes"})


def archives_of(wildcards):
    found = PLAN.find_data(wildcards.data)
    if found.entry.folder:
        return [os.path.expanduser(found.entry.folder)]
    if found.entry.generator:
        return ["<results>/data/drawn/{data}.zip"]
    return [f"<results>/data/raw/{found.name}/{name}" for name in found.entry.archives]


def run_of(wildcards):
    return RUNS.find(wildcards.run)


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
    return images_input(RUNS.row(wildcards.run), spec_of(wildcards))


def pixels_input(row, spec):
    """The packed pixels that a network takes as input."""
    folder = f"<results>/data/{PLAN.data(row.dataset).folder}"
    stem = f"{folder}/pixels-{spec.network.pixels}-{spec.network.mode}"
    return {"pixels": ancient(f"{stem}.npy"), "pixel_table": ancient(f"{stem}.parquet")}


def best_of(wildcards):
    """The best values of the search that a run takes them from; no input for most runs."""
    search = PLAN.search_of(RUNS.row(wildcards.run))
    return (
        {"best": ancient(f"<results>/{searches.folder(PLAN, search)}/best.yaml")} if search else {}
    )


def searched(name):
    """What a search leaves, as the input of its target by name."""
    return lambda wildcards: f"<results>/{searches.folder(PLAN, name)}/best.yaml"


def name_of_search(wildcards):
    return wildcards.search.rpartition("-")[0]


def search_of(wildcards):
    return PLAN.searches[name_of_search(wildcards)]


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
    role = PLAN.measures[wildcards.measure].role
    file = "train_embeddings" if role == "train" else "embeddings"
    return f"<results>/runs/{{run}}/{file}.parquet"


def combined_embeddings(wildcards):
    found = combinations.find(PLAN, wildcards.combination)
    return [f"<results>/runs/{run.folder}/embeddings.parquet" for run in found.runs]


def combined_metrics(wildcards):
    return PLAN.metrics(combinations.find(PLAN, wildcards.combination).runs[0])


def experiment_of(wildcards):
    return PLAN.experiments[wildcards.experiment.rpartition("-")[0]]
