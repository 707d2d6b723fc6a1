# Needs:  config/reference/<study>/: printed tables, and audit.yaml, their metadata for the rules
# Leaves: <results>/audit/<study>.{csv,md}   the printed numbers of one document, checked
#         <results>/audit/all.{csv,md}       all of them together (target: audit)

AUDITED = sorted(path.parent.name for path in (CONFIG / "reference").glob("*/audit.yaml"))


rule audit:
    input:
        "<results>/audit/all.csv",
        "<results>/audit/all.md",
    localrule: True


rule audit_document:
    input:
        tables=printed_tables,
        metadata=lambda wildcards: str(CONFIG / "reference" / wildcards.study / "audit.yaml"),
    output:
        csv="<results>/audit/{study,(?!all$)\\w+}.csv",
        md="<results>/audit/{study,(?!all$)\\w+}.md",
    log:
        "<results>/logs/audit/{study}.log",
    benchmark:
        "<results>/costs/audit/{study}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("audit"),
    params:
        reference=lambda wildcards: str(CONFIG / "reference" / wildcards.study),
        source=stage_digest("audit.py"),
    script:
        "../workflow/scripts/audit.py"


rule audit_all:
    input:
        expand("<results>/audit/{study}.csv", study=AUDITED),
    output:
        csv="<results>/audit/all.csv",
        md="<results>/audit/all.md",
    log:
        "<results>/logs/audit/all.log",
    benchmark:
        "<results>/costs/audit/all.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("audit"),
    params:
        source=stage_digest("audit_all.py"),
    script:
        "../workflow/scripts/audit_all.py"
