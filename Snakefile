import sys
from pathlib import Path

import yaml
from snakemake.utils import min_version

min_version("9.17")

# Of the working folder, or else of this repository, so that a call works from any folder.
CONFIGFILE = Path("config/config.yaml")
if not CONFIGFILE.exists():
    CONFIGFILE = Path(workflow.current_basedir) / CONFIGFILE

# Snakemake reports an empty file without naming it.
if CONFIGFILE.exists() and yaml.safe_load(CONFIGFILE.read_text(encoding="utf-8")) is None:
    sys.exit(f"dmlbench: {CONFIGFILE}: is empty; allowed: YAML with at least one key")


configfile: str(CONFIGFILE)


include: "rules/common.smk"
include: "rules/lookups.smk"
include: "rules/requested.smk"
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
include: "rules/certificate.smk"
include: "rules/report.smk"
include: "rules/overview.smk"
include: "rules/unused.smk"


# A job of a cluster asks for rules with scripts: five thousand targets take a third of its start.
if workflow.is_main_process:

    include: "rules/collect.smk"


onstart:
    try:
        # Read-only calls need no claim, and verdicts none that another call has.
        if not (only_looks() or only_judges() and claimed_by(RESULTS)):
            claim(RESULTS)
            slurm.cancel_what_was_left(RESULTS)
            RUNS.write()
        for line in needs_of_jobs_ahead():
            print(f"dmlbench: {line}", file=sys.stderr)
        show_progress()
    except UserError as error:
        sys.exit(f"dmlbench: {error}")
    snakemake_parts.start_jobs_as_asked(workflow)


onsuccess:
    for file in pages.to_read(PLAN, workflow.dag_settings.targets or []):
        print(f"dmlbench: to read: {file}", file=sys.stderr)


# After a failed job, and after Ctrl-C.
onerror:
    if job_resources.was_refused(log):
        print(
            "dmlbench: Slurm refused jobs, see above: what they ask for is in config/resources.yaml, "
            "where they may run in profiles/slurm/site.yaml",
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
