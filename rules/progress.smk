# Needs:  PLAN and RUNS of common.smk, name_of_search of lookups.smk, on_a_gpu of costs.smk
# Leaves: lines of progress on the terminal instead of Snakemake's lines about single jobs. No rules.
import collections

from snakemake.logging import logger
from snakemake.settings.enums import Quietness

from dmlbench.plan.cost_model import CostModel
from dmlbench.plan.costs import seconds_of_search
from dmlbench.presentation.progress_line import Task, replace_lines
from dmlbench.presentation.run_lines import learned, share, titles_of_rows


def tasks_ahead():
    """The jobs of this call by id."""
    jobs = list(workflow.dag.needrun_jobs(exclude_finished=False))
    trained = [job for job in jobs if job.rule.name == "train"]
    rows = {job.jobid: RUNS.row(job.wildcards.run) for job in trained}
    titles = dict(zip(rows, titles_of_rows(PLAN, list(rows.values()))))
    model = CostModel(PLAN, Path(RESULTS), gpu=on_a_gpu())
    tasks = {job.jobid: Task(kind=job.rule.name, title=job.rule.name) for job in jobs}
    for job in trained:
        row = rows[job.jobid]
        spec = PLAN.run(row).spec
        tasks[job.jobid] = Task(
            kind=f"train {row.network} {row.dataset} {spec.epochs}",
            title=titles[job.jobid],
            is_run=True,
            seconds=model.estimate(row.network, spec).seconds,
            learned=functools.partial(learned, Path(RESULTS), job.wildcards.run),
            share=functools.partial(share, Path(RESULTS), job.wildcards.run),
        )
    workers = [job for job in jobs if job.rule.name == "search_worker"]
    names = {job.jobid: name_of_search(job.wildcards) for job in workers}
    workers_of = collections.Counter(names.values())
    for job, name in names.items():
        seconds = seconds_of_search(model, name)
        tasks[job] = Task(
            kind=f"search {PLAN.searches[name].run.network}",
            title=f"search {name}",
            seconds=seconds and seconds / workers_of[name],
        )
    return tasks


def show_progress():
    """Replace Snakemake's lines unless the call asks for more of them, or for none."""
    asked = workflow.output_settings
    silent = {Quietness.ALL, Quietness.PROGRESS}.intersection(asked.quiet or ())
    if not (asked.verbose or asked.printshellcmds or silent):
        replace_lines(logger, tasks_ahead())
