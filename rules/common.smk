# Needs:  config/
# Leaves: PLAN, the checked plan; what every rule file uses. No rules.
import functools
import os
import signal
import sys
from pathlib import Path

LIBRARY = Path(workflow.basedir) / "workflow" / "scripts"
sys.path.insert(0, str(LIBRARY))

from dmlbench import plan, registry
from dmlbench.errors import UserError
from dmlbench.files import claim
from dmlbench.plan import cluster, costs, pages, searches, views
from dmlbench.plan.sources import stage_digest
from dmlbench.training.version import VERSION as TRAINING_VERSION

CONFIG = Path(os.path.relpath(workflow.basedir)) / "config"

try:
    load = plan.load if workflow.is_main_process else plan.reload
    PLAN = load(config, CONFIG)
    NEEDS = cluster.Resources(CONFIG / "resources.yaml")
except UserError as error:
    sys.exit(f"dmlbench: {error}")

RESULTS = config["pathvars"]["results"]
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
    archive=r"[^/]+",
    file=r"[^/]+",
    size=r"\d+",
    mode=r"\w+",
    split=r"[\w-]+",
    run=r"\w+/\w+/d\d+/\w+/\w+/[\w-]+/seed\d+",
    study=r"\w+",
    table=r"\w+",
    figure=r"(?!map_)\w+",
    map=r"\w+",
    search=r"\w+",
    worker=r"\d+",


def dataset_of(wildcards):
    return PLAN.datasets[wildcards.dataset]


def archive_of(wildcards):
    """How an archive is recognised."""
    return dataset_of(wildcards).archives[wildcards.archive].model_dump(exclude=SOURCES)


def weights_of_file(wildcards):
    """How a file of weights is recognised."""
    return PLAN.weights[wildcards.file].model_dump(exclude=SOURCES)


# Parameters that are made with the output's help are not compared by Snakemake: a new address is no
# reason to fetch a file again, and to train again after that.
def sources_of_archive(wildcards, output):
    return dataset_of(wildcards).archives[wildcards.archive].model_dump(include=SOURCES)


def sources_of_weights(wildcards, output):
    return PLAN.weights[wildcards.file].model_dump(include=SOURCES)


def archives_of(wildcards):
    dataset = dataset_of(wildcards)
    if dataset.folder:
        return [os.path.expanduser(dataset.folder)]
    if dataset.generator:
        return ["<results>/data/drawn/{dataset}.zip"]
    return [f"<results>/data/raw/{{dataset}}/{name}" for name in dataset.archives]


def run_of(wildcards):
    """The run that a job is about: its own, or the one that its search tunes."""
    if wildcards.get("search"):
        return PLAN.searches[wildcards.search].tuned
    return plan.Run.parse(wildcards.run)


def spec_of(wildcards):
    return PLAN.spec(run_of(wildcards))


def threads_of(wildcards):
    return PLAN.networks[run_of(wildcards).network].threads


def weights_of(wildcards):
    """The file of weights that a run starts from; no input where there is none."""
    weights = spec_of(wildcards).network.weights
    return {"weights": f"<results>/weights/{weights.file}"} if weights else {}


def images_of(wildcards):
    """Index, split and packed pixels of a run's images."""
    spec = spec_of(wildcards)
    return {
        "index": f"<results>/data/{spec.dataset}/images.parquet",
        "split": f"<results>/splits/{spec.dataset}/{spec.split}.parquet",
        **pixels_of(spec),
    }


def pixels_of(spec):
    """The packed pixels that a network eats."""
    stem = f"<results>/data/{spec.dataset}/pixels-{spec.network.pixels}-{spec.network.mode}"
    return {"pixels": f"{stem}.npy", "pixel_table": f"{stem}.parquet"}


def scores_of(study, where=None):
    return [f"<results>/runs/{run.path}/scores.parquet" for run in PLAN.runs(study, where)]


def embeddings_of(run):
    """The embeddings that a run is scored with: its own, or in a rehearsal its stand-in's."""
    return f"<results>/runs/{PLAN.stand_ins.get(run, run).path}/embeddings.parquet"


def workers_of(wildcards):
    """What the workers of a search leave."""
    workers = range(PLAN.searches[wildcards.search].workers)
    return [f"<results>/searches/{wildcards.search}/workers/{worker}.yaml" for worker in workers]


def view_scores(kind):
    """The scores of the runs that a view asks for, and of no other; none for one of searches."""

    def scores(wildcards):
        view = views.view(PLAN, wildcards.study, kind, wildcards.get(kind))
        return [] if views.searches_of(view) else scores_of(wildcards.study, view.where)

    return scores


def view_queries(kind):
    """What the queries of those runs found."""

    def queries(wildcards):
        files = view_scores(kind)(wildcards)
        return [file.replace("scores.parquet", "queries.parquet") for file in files]

    return queries


def view_printed(kind):
    """The printed tables that a view shows beside ours."""

    def printed(wildcards):
        view = views.view(PLAN, wildcards.study, kind, wildcards.get(kind))
        return [str(file) for file in views.printed_files(PLAN, wildcards.study, view)]

    return printed


def table_queries(wildcards):
    """What the queries of a table's runs found, for the kinds of tables that look at them."""
    kind = views.view(PLAN, wildcards.study, "table", wildcards.table).kind.name
    asks = "queries" in registry.hyperparameters("presentation/tables", kind)
    return view_queries("table")(wildcards) if asks else []


def table_trials(wildcards):
    """Trials and best scores of the searches that a table shows."""
    searches = views.view(PLAN, wildcards.study, "table", wildcards.table).searches
    files = ("trials.parquet", "scores.parquet")
    return [f"<results>/searches/{search}/{file}" for search in searches for file in files]


def view_facts(kind):
    """What a view's kind is built from."""

    def facts(wildcards):
        return views.facts(PLAN, wildcards.study, kind, wildcards.get(kind))

    return facts


def map_inputs(wildcards):
    """Embeddings of the runs of a map, and the pixels that they share."""
    view = views.view(PLAN, wildcards.study, "map", wildcards.map)
    runs = PLAN.runs(wildcards.study, view.where)
    embeddings = [embeddings_of(run) for run in runs]
    return {"embeddings": embeddings, **pixels_of(PLAN.spec(runs[0]))}


def printed_tables(wildcards):
    """The tables of a study as they are printed."""
    return sorted(map(str, (CONFIG / "reference" / wildcards.study).glob("table_*.csv")))


def reported_studies():
    """The studies asked for in this call, and those that an earlier one has finished."""
    asked = set(workflow.dag_settings.targets) or {"all"}
    return [
        study
        for study in PLAN.studies
        if asked & {study, "all"} or Path(RESULTS, "studies", study, "tournament.csv").exists()
    ]


def report_inputs(wildcards):
    return [file for study in reported_studies() for file in pages.files(PLAN, study)]


@functools.cache
def tell_costs():
    """In a dry run: say once what the trainings asked for will cost."""
    if workflow.dryrun:
        for line in costs.summary(PLAN, sorted(workflow.dag_settings.targets) or ["all"]):
            print(f"dmlbench: {line}", file=sys.stderr)


def told(files):
    """The files of a target, whose costs a dry run tells before them."""

    def inputs(wildcards):
        tell_costs()
        return files

    return inputs
