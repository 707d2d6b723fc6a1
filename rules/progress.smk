# Needs:  PLAN and RUNS of common.smk, only_looks of requested.smk, estimator of costs.smk
# Leaves: lines of progress on the terminal instead of Snakemake's lines about single jobs. No rules.
from snakemake.logging import logger
from snakemake.settings.enums import Quietness

from dmlbench.presentation.progress_line import replace_lines
from dmlbench.presentation.tasks import tasks


def show_progress():
    """Replace Snakemake's lines unless the call asks for more of them, or for none."""
    asked = workflow.output_settings
    silent = {Quietness.ALL, Quietness.PROGRESS}.intersection(asked.quiet or ())
    if asked.verbose or asked.printshellcmds or silent:
        return
    # What a call prints that only looks is all of it.
    ahead = [] if only_looks() else workflow.dag.needrun_jobs(exclude_finished=False)
    jobs = {job.jobid: (job.rule.name, dict(job.wildcards.items())) for job in ahead}
    replace_lines(logger, tasks(estimator(), RUNS.row, jobs))
