# Needs:  config/reference/<study>/: printed tables, and audit.yaml, their metadata for the rules
# Leaves: <results>/audit/<study>.{csv,md}   the printed numbers of one document, checked
#         <results>/audit/all.{csv,md}       all of them together (target: audit, which prints
#                                            their counts)

AUDITED = sorted(path.parent.name for path in (CONFIG / "reference").glob("*/audit.yaml"))


rule audit:
    input:
        csv=made("audit_all", "csv"),
        md=made("audit_all", "md"),
    localrule: True
    script:
        "../workflow/scripts/counts.py"


rule audit_document:
    input:
        tables=printed_tables,
        metadata=lambda wildcards: str(CONFIG / "reference" / wildcards.study / "audit.yaml"),
    output:
        csv=made("audit_document", "csv"),
        md=made("audit_document", "md"),
    wildcard_constraints:
        study=r"(?!all$)\w+",
    localrule: True
    params:
        reference=lambda wildcards: str(CONFIG / "reference" / wildcards.study),
        source=stage_digest("audit.py"),
    script:
        "../workflow/scripts/audit.py"


rule audit_all:
    input:
        expand(made("audit_document", "csv"), study=AUDITED),
    output:
        csv=made("audit_all", "csv"),
        md=made("audit_all", "md"),
    localrule: True
    params:
        source=stage_digest("audit_all.py"),
    script:
        "../workflow/scripts/audit_all.py"
