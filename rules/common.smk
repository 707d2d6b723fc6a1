# Needs:  config/
# Leaves: PLAN, the checked plan, and look-ups of wildcards in it. No rules.
import functools
import os
import re
import signal
import sys
from pathlib import Path

# The folder of this repository, even if another workflow uses this one as a module.
HOME = Path(workflow.current_basedir).parent
LIBRARY = HOME / "workflow" / "scripts"
sys.path.insert(0, str(LIBRARY))

from dmlbench import plan
from dmlbench.claims import claim
from dmlbench.errors import UserError, entry
from dmlbench.garbage import leave_garbage_at_exit
from dmlbench.plan import cluster, combinations, data, naming, searches
from dmlbench.plan import run as runs
from dmlbench.plan.call import check_numbers, check_results, results_folder
from dmlbench.plan.identity import identified
from dmlbench.plan.index import FILE, RunIndex
from dmlbench.plan.sources import stage_digest

CONFIG = Path(os.path.relpath(HOME)) / "config"
leave_garbage_at_exit()


try:
    RESULTS = results_folder(config)
    check_numbers(workflow.resource_settings.cores, workflow.resource_settings.nodes)
    check_results(RESULTS)
    if workflow.is_main_process:
        PLAN = plan.load_unless_checked(config, CONFIG, Path(RESULTS, ".checked"))
        # Which targets are asked for is not known yet.
        for problem in PLAN.broken.values():
            print(f"dmlbench: warning: study left out: {problem}", file=sys.stderr)
    else:
        PLAN = plan.reload(config, CONFIG)
    NEEDS = cluster.Resources(CONFIG / "resources.yaml")
except UserError as error:
    sys.exit(f"dmlbench: {error}")

# Embeddings that a training writes for the next rules, which then need no torch.
PREPARED, PREPARED_TRAIN = ".embeddings.parquet", ".train_embeddings.parquet"
RUNS = RunIndex(PLAN, Path(RESULTS, FILE), fresh=workflow.is_main_process)
# Where a file comes from, in a catalogue.
SOURCES = {"urls", "note"}
ENVIRONMENT = f"../envs/{config['environment']}.yaml"

# Before a job's time limit, a cluster sends SIGUSR1 to all of its processes. It is meant for the
# training: without this the surrounding Snakemake would die and end the training too.
signal.signal(signal.SIGUSR1, signal.SIG_IGN)


# Not cluster jobs: seconds of work, or work that a node without internet cannot do.
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
    """The function; a UserError in it ends the call."""

    @functools.wraps(function)
    def called(*asked):
        try:
            return function(*asked)
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
