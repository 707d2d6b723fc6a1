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
from dmlbench.plan import cluster, combinations, costs, data, naming, pages, searches, views
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


def files_of(study, file, where=None):
    """A file of the run behind each row of a study, in the order of the rows."""
    rows = PLAN.rows(study, where)
    return [f"<results>/runs/{PLAN.run(row).folder}/{file}" for row in rows]


def scores_of(study, where=None, measures=()):
    """The files of scores of a study's rows, in the order of `views.shown`."""
    return [f"<results>/{file}" for _, file in views.shown(PLAN, study, where, measures)]


def experiments_of(names):
    """The tables of experiments, over their seeds."""
    return [
        f"<results>/experiments/{PLAN.experiments[name].folder(name)}/seed{seed}.parquet"
        for name in names
        for seed in PLAN.experiments[name].seeds
    ]


def experiment_of(wildcards):
    return PLAN.experiments[wildcards.experiment.rpartition("-")[0]]


def view_of(wildcards, kind):
    return views.view(PLAN, wildcards.study, kind, wildcards.get(kind))


def view_scores(kind):
    """The scores of the runs that a view asks for, and of no other."""

    def scores(wildcards):
        view = view_of(wildcards, kind)
        return scores_of(wildcards.study, view.where, getattr(view, "measures", ()))

    return scores


def view_queries(kind):
    """What the queries of those runs found, in the order of the rows."""
    return lambda wildcards: files_of(
        wildcards.study, "queries.parquet", view_of(wildcards, kind).where
    )


def view_printed(kind):
    """The printed tables that a view shows next to ours."""

    def printed(wildcards):
        view = view_of(wildcards, kind)
        return [str(file) for file in views.printed_files(PLAN, wildcards.study, view)]

    return printed


def view_mapping(kind):
    """Where the printed numbers of a view find ours: read from the printed tables' folder."""

    def mapping(wildcards):
        folders = {Path(file).parent for file in view_printed(kind)(wildcards)}
        return sorted(str(folder / "mapping.yaml") for folder in folders)

    return mapping


def view_experiments(kind):
    """What the experiments that a view shows have left."""
    return lambda wildcards: experiments_of(view_of(wildcards, kind).experiments)


def figure_arrays(wildcards):
    """The arrays of measures and experiments, for the kinds of figures that draw them."""
    view = view_of(wildcards, "figure")
    room, kind = "presentation/figures", view.kind.name
    if registry.annotation(room, kind, "__init__", "arrays") is None:
        return []
    measured = [
        file
        for file in scores_of(wildcards.study, view.where, view.measures)
        if "/measures/" in file
    ]
    files = [*measured, *experiments_of(view.experiments)]
    return [file.removesuffix("parquet") + "npz" for file in files]


def table_queries(wildcards):
    """What the queries of a table's runs found, for the kinds of tables that look at them."""
    kind = view_of(wildcards, "table").kind.name
    asks = "queries" in registry.hyperparameters("presentation/tables", kind)
    return view_queries("table")(wildcards) if asks else []


def table_trials(wildcards):
    """The trials of the searches that a table shows."""
    names = view_of(wildcards, "table").searches
    return [f"<results>/{searches.folder(PLAN, name)}/trials.parquet" for name in names]


def view_facts(kind):
    """What a view's kind is built from."""

    def facts(wildcards):
        return views.facts(PLAN, wildcards.study, kind, wildcards.get(kind))

    return facts


def map_inputs(wildcards):
    """Embeddings of the runs of a map, and the pixels that they share."""
    where = view_of(wildcards, "map").where
    row = PLAN.rows(wildcards.study, where)[0]
    embeddings = files_of(wildcards.study, "embeddings.parquet", where)
    return {"embeddings": embeddings, **pixels_input(row, PLAN.run(row).spec)}


def printed_tables(wildcards):
    """The tables of a study as they are printed."""
    return sorted(map(str, (CONFIG / "reference" / wildcards.study).glob("table_*.csv")))


def reported_studies():
    """The studies asked for in this call, and those that an earlier one has finished."""
    asked = set(workflow.dag_settings.targets) or {"all"}
    return [
        study
        for study in PLAN.studies
        if asked & {study, "all"} or Path(RESULTS, "studies", study, "scores.parquet").exists()
    ]


def report_inputs(wildcards):
    return [file for study in reported_studies() for file in pages.files(PLAN, study)]


@functools.cache
def print_costs():
    """In a dry run: print once what the trainings asked for will cost."""
    if workflow.dryrun:
        for line in costs.summary(PLAN, sorted(workflow.dag_settings.targets) or ["all"]):
            print(f"dmlbench: {line}", file=sys.stderr)


def with_costs(files):
    """The files of a target, whose costs a dry run prints before them."""

    def inputs(wildcards):
        print_costs()
        return files

    return inputs
