# Needs:  PLAN and RUNS of common.smk, name_of_search and only_looks of lookups.smk, on_a_gpu of costs.smk
# Leaves: lines of progress on the terminal instead of Snakemake's lines about single jobs. No rules.
from snakemake.logging import logger
from snakemake.settings.enums import Quietness

from dmlbench.plan.cost_model import CostModel
from dmlbench.presentation import tasks
from dmlbench.presentation.progress_line import Task, replace_lines


def tasks_ahead():
    """The jobs of this call by id."""
    jobs = list(workflow.dag.needrun_jobs(exclude_finished=False))
    trained = [job for job in jobs if job.rule.name == "train"]
    searched = [job for job in jobs if job.rule.name == "search_worker"]
    runs = {job.jobid: job.wildcards.run for job in trained}
    names = {job.jobid: name_of_search(job.wildcards) for job in searched}
    rows = {job: RUNS.row(run) for job, run in runs.items()}
    model = CostModel(PLAN, Path(RESULTS), gpu=on_a_gpu())
    return {
        **{job.jobid: Task(kind=job.rule.name, title=job.rule.name) for job in jobs},
        **tasks.of_trainings(model, rows, runs),
        **tasks.of_searches(model, names),
    }


def show_progress():
    """Replace Snakemake's lines unless the call asks for more of them, or for none."""
    asked = workflow.output_settings
    silent = {Quietness.ALL, Quietness.PROGRESS}.intersection(asked.quiet or ())
    if not (asked.verbose or asked.printshellcmds or silent):
        # What a call prints that only looks is all of it.
        replace_lines(logger, {} if only_looks() else tasks_ahead())
