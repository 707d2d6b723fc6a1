# Needs:  PLAN of common.smk, the records of finished files
# Leaves: lines at the end of a call about finished files that stay although they would be others now,
#         or of which nothing is known. No rules.
import atexit


@atexit.register
def print_stale():
    """Name trainings of other code or other best values, and files without a record."""
    if not workflow.is_main_process or workflow.dag is None:
        return
    jobs = [job for job in workflow.dag.jobs if job.output and not workflow.dag.needrun(job)]
    for line in stale.lines([str(job.output[0]) for job in jobs], RESULTS):
        print(f"dmlbench: {line}", file=sys.stderr)
