# Needs:  the existing scores of a paper's study, or all of them if the study is requested; the
#         paper's printed tables with their margins, and their audit
# Leaves: <results>/agreement/<study>.csv   a verdict on every printed number of one paper
#         <results>/agreement.{csv,md}      all of them together (target: agreement, which prints
#                                           their counts)


use rule audit as agreement with:
    input:
        csv=made("agreement_all", "csv"),
        md=made("agreement_all", "md"),


rule agreement_document:
    input:
        scores=lambda wildcards: [file for _, file in scored_so_far(wildcards.study)],
        tables=lambda wildcards: experiments_so_far(wildcards.study),
        printed=printed_tables,
        read_with_them=lambda wildcards: [
            str(CONFIG / "reference" / wildcards.study / name)
            for name in ("mapping.yaml", "margins.yaml", "margins.csv")
        ],
        findings=made("audit_document", "csv"),
    output:
        made("agreement_document"),
    localrule: True
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
        csv=made("agreement_all", "csv"),
        md=made("agreement_all", "md"),
    localrule: True
    params:
        source=stage_digest("agreement_all.py"),
    script:
        "../workflow/scripts/agreement_all.py"
