# Needs:  PLAN and RUNS of common.smk
# Leaves: what the jobs of a dry run will cost, printed last. No rules.
import atexit
import collections

from dmlbench.plan import costs
from dmlbench.training.gpus import visible_gpus


def on_a_gpu():
    """Whether trainings will run on a GPU: of a cluster, or of this machine."""
    # In a dry run the executor is unknown, but not the limit on jobs in a cluster's queue.
    cluster = workflow.resource_settings.nodes is not None
    asked = PLAN.configuration.device == "cuda" or cluster
    return PLAN.configuration.device != "cpu" and (asked or bool(visible_gpus()))


def jobs_ahead():
    """What Snakemake will run."""
    jobs = collections.defaultdict(list)
    for job in workflow.dag.needrun_jobs(exclude_finished=False):
        if job.rule.script:
            jobs[job.rule.name].append(job.wildcards)
    rows = [RUNS.row(wildcards.run) for wildcards in jobs.pop("train", [])]
    trials = [name_of_search(wildcards) for wildcards in jobs.pop("search_worker", [])]
    downloads = [archive_entry(wildcards).bytes for wildcards in jobs.pop("download", [])]
    downloads += [weights_entry(wildcards).bytes for wildcards in jobs.pop("weights", [])]
    return costs.Ahead(
        {PLAN.run(row): row for row in rows},
        list(dict.fromkeys(trials)),
        downloads,
        {rule: len(found) for rule, found in jobs.items()},
    )


@atexit.register
def print_costs():
    """Print costs after a dry run's output; nothing if the call ended before its jobs were known."""
    if workflow.dryrun and workflow.scheduler:
        try:
            for line in costs.lines(PLAN, jobs_ahead(), gpu=on_a_gpu()):
                print(f"dmlbench: {line}")
        except UserError as error:
            print(f"dmlbench: {error}", file=sys.stderr)
