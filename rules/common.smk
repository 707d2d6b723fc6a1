# Needs:  config/
# Leaves: PLAN, the checked plan, and what all rules take from it. No rules.
#         A path below the results is `made` by its rule (dmlbench/plan/paths.py); inputs that depend
#         on the plan are `inputs_of` a rule (dmlbench/plan/inputs.py); no rule states its log,
#         benchmark, environment and resources (`with_shared_directives`).
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

from dmlbench import plan
from dmlbench.results_lock import claim
from dmlbench.errors import UserError, entry
from dmlbench.garbage import leave_garbage_at_exit
from dmlbench.plan import cluster, combinations, data, frozen, pages, paths, searches, views
from dmlbench.plan import run as runs
from dmlbench.plan.call import check_numbers, check_results, results_folder
from dmlbench.plan.identity import identified
from dmlbench.plan.index import RunIndex
from dmlbench.plan.inputs import Inputs, made
from dmlbench.plan.remembered import remember_pure_functions
from dmlbench.plan.sources import stage_digest
from dmlbench.plan.triggers import trust_records

CONFIG = Path(os.path.relpath(HOME)) / "config"
leave_garbage_at_exit()
remember_pure_functions()


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
    NEEDS = cluster.Resources(CONFIG / "resources.yaml")
except UserError as error:
    sys.exit(f"dmlbench: {error}")

RUNS = RunIndex(PLAN, Path(RESULTS, paths.INDEX_OF_RUNS), fresh=workflow.is_main_process)
INPUTS = Inputs(RUNS)
trust_records(RESULTS)
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
    claims_document,
    claims_all,
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


def with_shared_directives(new_rule):
    """Give each rule of `paths.RULES` what all of them share, so that no rule repeats it.

    A log, an environment and, if it writes anything, a benchmark and its needs of config/resources.yaml.

    Args:
        new_rule: `workflow.rule`, which Snakemake calls for each `rule:` of a file.
    """

    def rule(name=None, lineno=None, snakefile=None, **options):
        def decorate(directives):
            if name in paths.RULES and Path(snakefile).is_relative_to(HOME):
                shared = [workflow.log(f"<results>/{paths.log(name)}"), workflow.conda(ENVIRONMENT)]
                if paths.outputs(name):
                    job = paths.job(name).partition("/")[0]
                    needs = in_one_line(NEEDS.of)(job, PROCESSES.get(name))
                    shared += [workflow.benchmark(f"<results>/{paths.cost(name)}")]
                    shared += [workflow.resources(**needs)]
                for directive in shared:
                    directives = directive(directives)
            return new_rule(name, lineno, snakefile, **options)(directives)

        return decorate

    return rule


workflow.rule = with_shared_directives(workflow.rule)
