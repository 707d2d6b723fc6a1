import sys
from pathlib import Path

import yaml
from snakemake.utils import min_version

min_version("9.11")

CONFIGFILE = Path("config/config.yaml")

# Snakemake reports an empty file without naming it.
if CONFIGFILE.exists() and yaml.safe_load(CONFIGFILE.read_text()) is None:
    sys.exit(f"dmlbench: {CONFIGFILE}: is empty; allowed: YAML with at least one key")


configfile: str(CONFIGFILE)


include: "rules/common.smk"
include: "rules/lookups.smk"
include: "rules/records.smk"
include: "rules/costs.smk"
include: "rules/progress.smk"
include: "rules/data.smk"
include: "rules/split.smk"
include: "rules/train.smk"
include: "rules/embed.smk"
include: "rules/evaluate.smk"
include: "rules/search.smk"
include: "rules/experiments.smk"
include: "rules/studies.smk"
include: "rules/audit.smk"
include: "rules/agreement.smk"
include: "rules/claims.smk"
include: "rules/report.smk"
include: "rules/overview.smk"
include: "rules/unused.smk"
include: "rules/collect.smk"


onstart:
    try:
        # Read-only calls need no claim.
        if not only_looks():
            claim(RESULTS)
            RUNS.write()
        show_progress()
    except UserError as error:
        sys.exit(f"dmlbench: {error}")
    # With its default limit, Snakemake's scheduler reconsiders all waiting jobs once a second for
    # every finished job: hours into a study that takes a whole core.
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


onsuccess:
    for file in pages.to_read(PLAN, workflow.dag_settings.targets or []):
        print(f"dmlbench: to read: {file}", file=sys.stderr)


# After a failed job, and after Ctrl-C.
onerror:
    if cluster.asked_for_too_much(log):
        print(
            "dmlbench: no node has what a job asks for: lower it in config/resources.yaml, or the "
            "number of cores by `cores` in profiles/slurm/site.yaml",
            file=sys.stderr,
        )
    print(
        "dmlbench: what is finished is kept, and the same command continues; "
        "`snakemake --cores 1 status` lists what failed, and why",
        file=sys.stderr,
    )


rule all:
    default_target: True
    input:
        "<results>/report.html",
    localrule: True
