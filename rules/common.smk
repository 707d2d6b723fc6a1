# Needs:  config/
# Leaves: PLAN, the checked plan; what every rule file uses. No rules.
import os
import sys
from pathlib import Path

LIBRARY = Path(workflow.basedir) / "workflow" / "scripts"
sys.path.insert(0, str(LIBRARY))

from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan import pages, views
from dmlbench.plan.sources import stage_digest
from dmlbench.training.version import VERSION as TRAINING_VERSION

CONFIG = Path(os.path.relpath(workflow.basedir)) / "config"

try:
    PLAN = plan.load(config, CONFIG)
except UserError as error:
    sys.exit(f"dmlbench: {error}")

RESULTS = config["pathvars"]["results"]
ENVIRONMENT = f"../envs/{config['environment']}.yaml"


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


def dataset_of(wildcards):
    return PLAN.datasets[wildcards.dataset]


def archives_of(wildcards):
    dataset = dataset_of(wildcards)
    if dataset.folder:
        return [os.path.expanduser(dataset.folder)]
    if dataset.generator:
        return ["<results>/data/drawn/{dataset}.zip"]
    return [f"<results>/data/raw/{{dataset}}/{name}" for name in dataset.archives]


def spec_of(wildcards):
    return PLAN.spec(plan.Run.parse(wildcards.run))


def threads_of(wildcards):
    return PLAN.networks[plan.Run.parse(wildcards.run).network].threads


def weights_of(wildcards):
    """The file of weights that a run starts from; no input where there is none."""
    weights = spec_of(wildcards).network.weights
    return {"weights": f"<results>/weights/{weights.file}"} if weights else {}


def index_of(wildcards):
    return f"<results>/data/{spec_of(wildcards).dataset}/images.parquet"


def split_of(wildcards):
    spec = spec_of(wildcards)
    return f"<results>/splits/{spec.dataset}/{spec.split}.parquet"


def pixels_of(wildcards):
    spec = spec_of(wildcards)
    network = spec.network
    return f"<results>/data/{spec.dataset}/pixels-{network.pixels}-{network.mode}.npy"


def pixel_table_of(wildcards):
    return pixels_of(wildcards).replace(".npy", ".parquet")


def scores_of(study, where=None):
    return [f"<results>/runs/{run.path}/scores.parquet" for run in PLAN.runs(study, where)]
