# Needs:  the existing scores of a paper's study, or all of them if the study is requested; the
#         paper's printed tables and their audit
# Leaves: <results>/agreement/<study>.csv   a verdict on every printed number of one paper
#         <results>/agreement.{csv,md}      all of them together (target: agreement)


@in_one_line
def reproduced(wildcards):
    """The verdicts on every paper among the studies."""
    PLAN.check_all_studies()
    return [f"<results>/agreement/{study}.csv" for study in AUDITED if study in PLAN.studies]


rule agreement:
    input:
        "<results>/agreement.csv",
        "<results>/agreement.md",
    localrule: True


rule agreement_document:
    input:
        scores=lambda wildcards: [file for _, file in scored_so_far(wildcards.study)],
        tables=lambda wildcards: experiments_so_far(wildcards.study),
        printed=printed_tables,
        mapping=lambda wildcards: str(CONFIG / "reference" / wildcards.study / "mapping.yaml"),
        findings="<results>/audit/{study}.csv",
    output:
        "<results>/agreement/{study}.csv",
    log:
        "<results>/logs/agreement/{study}.log",
    benchmark:
        "<results>/costs/agreement/{study}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("agreement"),
    params:
        rows=lambda wildcards: [row for row, _ in scored_so_far(wildcards.study)],
        rehearsal=PLAN.configuration.rehearsal is not None,
        source=stage_digest("agreement.py"),
    script:
        "../workflow/scripts/agreement.py"


rule agreement_all:
    input:
        reproduced,
    output:
        csv="<results>/agreement.csv",
        md="<results>/agreement.md",
    log:
        "<results>/logs/agreement/all.log",
    benchmark:
        "<results>/costs/agreement/all.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("agreement"),
    params:
        source=stage_digest("agreement_all.py"),
    script:
        "../workflow/scripts/agreement_all.py"
