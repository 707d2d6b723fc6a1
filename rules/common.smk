# Needs:  config/
# Leaves: PLAN, the checked plan, and what all rules take from it. No rules.
#         A path below the results is `made` by its rule (dmlbench/plan/paths.py); inputs that depend
#         on the plan are `inputs_of` a rule (dmlbench/plan/graph/inputs.py); no rule states its log,
#         benchmark, environment and resources (`shared_directives`).
import atexit
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

from dmlbench import plan, snakemake_parts
from dmlbench.results_lock import claim, claimed_by
from dmlbench.errors import UserError, entry
from dmlbench.garbage import collect_seldom, leave_garbage_at_exit
from dmlbench.import_path import let_jobs_import_from
from dmlbench.plan.catalogs import job_resources, slurm
from dmlbench.plan.specs import certified_runs, combinations, data, frozen
from dmlbench.plan.specs import published_runs, searches
from dmlbench.plan.views import pages, score_files, views
from dmlbench.plan import paths
from dmlbench.plan.specs import run as runs
from dmlbench.plan.catalogs.call import check_numbers, check_results
from dmlbench.plan.catalogs.call import check_writable, is_writable, results_folder
from dmlbench.plan.views.dry_render import DryRender
from dmlbench.plan.catalogs.identity import identified
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.graph.inputs import Inputs, made
from dmlbench.plan.sources import stage_digest

CONFIG = Path(os.path.relpath(HOME)) / "config"
leave_garbage_at_exit()
collect_seldom()
let_jobs_import_from(LIBRARY)
snakemake_parts.remember_pure_functions()
snakemake_parts.check_each_script_once()
snakemake_parts.describe_printed_jobs()


try:
    RESULTS = results_folder(config)
    check_numbers(workflow.resource_settings.cores, workflow.resource_settings.nodes)
    check_results(RESULTS)
    if workflow.is_main_process:
        PLAN = plan.load_unless_checked(config, CONFIG, Path(RESULTS, paths.CHECKED))
        # At the end: whether a target needs a broken study, whose error then ends the call, is not
        # known yet.
        atexit.register(
            lambda: [print(f"dmlbench: {line}", file=sys.stderr) for line in PLAN.warnings()]
        )
    else:
        PLAN = plan.reload(config, CONFIG)
    # Set by profiles/slurm. Jobs of a cluster have what they need.
    site = os.environ.get("DMLBENCH_SITE") if workflow.is_main_process else None
    SITE = job_resources.read_site(Path(os.path.relpath(site))) if site else None
    NEEDS = job_resources.Resources(
        CONFIG / "resources.yaml",
        SITE,
        {
            "train": lambda wildcards: seconds_of_training(wildcards.run),
            "search_worker": lambda wildcards: seconds_of_worker(wildcards.search),
        },
    )
except UserError as error:
    sys.exit(f"dmlbench: {error}")

RUNS = RunIndex(PLAN, Path(RESULTS, paths.INDEX_OF_RUNS), fresh=workflow.is_main_process)
INPUTS = Inputs(RUNS)
RENDER = DryRender(PLAN, Path(RESULTS, paths.RENDERED))
snakemake_parts.trust_records(RESULTS)
snakemake_parts.let_dates_not_count(RESULTS)
snakemake_parts.ask_behind_ancient_inputs()
# Of rules that only look, which also work on results that cannot be written to.
LOGS_OF_LOOKS = "<results>" if is_writable(RESULTS) else ".snakemake"
ENVIRONMENT = f"../envs/{PLAN.configuration.environment}.yaml"

# Before a job's time limit, a cluster sends SIGUSR1 to all of its processes. It is meant for the
# training: without this the surrounding Snakemake would die and end the training too.
signal.signal(signal.SIGUSR1, signal.SIG_IGN)


wildcard_constraints:
    dataset=r"\w+",
    data=data.FOLDER,
    archive=r"[^/]+",
    file=r"[^/]+",
    size=r"\d+",
    mode=r"\w+",
    features=frozen.FEATURES,
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
    def called(*asked, **named):
        try:
            return function(*asked, **named)
        except UserError as error:
            sys.exit(f"dmlbench: {error}")

    return called


# Of the rules whose jobs may have several.
PROCESSES = {"train": lambda wildcards: run_of(wildcards).spec.gpus}


snakemake_parts.plan_read_only_results(
    lambda: workflow.dryrun, lambda: in_one_line(check_writable)(RESULTS)
)


def shared_directives(name, file, is_local):
    """What the rules of `paths.RULES` share, so that none repeats it.

    A log, an environment and, if it writes anything, a benchmark and its needs of config/resources.yaml.
    """
    if name not in paths.RULES or not Path(file).is_relative_to(HOME):
        return []
    logs = "<results>" if paths.outputs(name) else LOGS_OF_LOOKS
    shared = [workflow.log(f"{logs}/{paths.log(name)}"), workflow.conda(ENVIRONMENT)]
    if paths.outputs(name):
        shared.append(workflow.benchmark(f"<results>/{paths.cost(name)}"))
    if paths.outputs(name) and not is_local:
        needs = in_one_line(NEEDS.of)(paths.job(name).partition("/")[0], PROCESSES.get(name))
        needs = {key: in_one_line(each) if callable(each) else each for key, each in needs.items()}
        shared.append(workflow.resources(**needs))
    return shared


snakemake_parts.share_directives(workflow, shared_directives)
snakemake_parts.run_groups_in_turn(NEEDS.most_minutes)
if SITE:
    snakemake_parts.say_what_slurm_says(slurm.logs(RESULTS))
