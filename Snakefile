from snakemake.utils import min_version

min_version("9.11")


configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/views.smk"
include: "rules/data.smk"
include: "rules/split.smk"
include: "rules/train.smk"
include: "rules/embed.smk"
include: "rules/evaluate.smk"
include: "rules/search.smk"
include: "rules/experiments.smk"
include: "rules/studies.smk"
include: "rules/audit.smk"
include: "rules/report.smk"
include: "rules/unused.smk"
include: "rules/collect.smk"


onstart:
    try:
        claim(RESULTS)
        RUNS.write()
    except UserError as error:
        sys.exit(f"dmlbench: {error}")


rule all:
    default_target: True
    input:
        with_costs("<results>/report.html"),
    localrule: True
