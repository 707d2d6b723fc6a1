# Needs:  PLAN, RUNS, NEEDS and SITE of common.smk
# Leaves: estimates, and what the jobs of a dry run will cost, printed last. No rules.
import atexit
import contextlib

from dmlbench.errors import UserError
from dmlbench.plan.costs import costs
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.training.visible_gpus import visible_gpus

# With `--directory`, Snakemake is back where it was called from before costs are printed.
CALLED_IN = Path.cwd()


def on_a_gpu():
    """Whether trainings will run on a GPU: of a cluster, or of this machine."""
    # In a dry run the executor is unknown, but not the limit on jobs in a cluster's queue.
    cluster = workflow.resource_settings.nodes is not None
    asked = PLAN.configuration.device == "cuda" or cluster
    try:
        return PLAN.configuration.device != "cpu" and (asked or bool(visible_gpus()))
    except UserError:
        # A wrong CUDA_VISIBLE_DEVICES stops trainings, not what only asks for their costs.
        return False


@functools.cache
def estimator():
    """The one that asks what has run here only once in a call."""
    return Estimator(PLAN, Path(RESULTS), gpu=on_a_gpu())


@functools.cache
@in_one_line
def seconds_of_training(run):
    """An estimate of a run's training; None if unknown."""
    return estimator().training(RUNS.row(run).network, RUNS.find(run).spec).seconds


@functools.cache
@in_one_line
def seconds_of_worker(search):
    """An estimate of a worker's share of a search; None if unknown."""
    name = costs.name_of_search(search)
    seconds = estimator().search(name).seconds
    return seconds and seconds / PLAN.searches[name].workers


def jobs_ahead():
    """What Snakemake will run."""
    jobs = workflow.dag.needrun_jobs(exclude_finished=False)
    scripts = ((job.rule.name, dict(job.wildcards.items())) for job in jobs if job.rule.script)
    return costs.ahead(PLAN, RUNS.row, scripts)


def needs_of_jobs_ahead():
    """What a cluster cannot give the jobs of this call; a UserError if it can run none of a rule."""
    wanted = {}
    for job in workflow.dag.needrun_jobs(exclude_finished=False) if SITE else ():
        # Jobs of other rules run where Snakemake does.
        name = job.rule.name
        if name in NEEDS.needs:
            wanted[name] = max(wanted.get(name, 0), NEEDS.minutes(name, job.wildcards))
    return NEEDS.shortened(wanted)


def published_ahead():
    """What published runs stand for in the studies of this call, and which ones cannot."""
    ahead = workflow.dag.needrun_jobs(exclude_finished=False)
    studies = {job.wildcards.study for job in ahead if "study" in job.wildcards.keys()}
    # Pages on a paper's claims and audit have its name, whether or not its study is one of this call.
    for study in sorted(studies & PLAN.studies.keys()):
        for tell in (published_runs.said, published_runs.detectable, published_runs.trained_again):
            if line := tell(PLAN, study):
                yield f"{study}: {line}"


@atexit.register
def print_costs():
    """Print costs after a dry run's output; nothing if the call ended before its jobs were known."""
    if workflow.dryrun and workflow.scheduler:
        try:
            with contextlib.chdir(CALLED_IN):
                for line in (*needs_of_jobs_ahead(), *published_ahead()):
                    print(f"dmlbench: {line}")
                for line in costs.lines(PLAN, jobs_ahead(), gpu=on_a_gpu()):
                    print(f"dmlbench: {line}")
        except UserError as error:
            print(f"dmlbench: {error}", file=sys.stderr)
