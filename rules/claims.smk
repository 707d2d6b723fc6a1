# Needs:  the existing scores of a paper's study, or all of them if the study is requested; the
#         paper's printed tables with their margins and its claims.yaml; the scores of its stand-ins,
#         of this results folder or published
# Leaves: <results>/claims/<study>.csv   a verdict on every claim of one paper (target: <study>_claims)
#         <results>/claims.{csv,md}      all of them together (target: claims, which prints their
#                                        counts)

CLAIMED = sorted(path.parent.name for path in (CONFIG / "reference").glob("*/claims.yaml"))


use rule audit as claims with:
    input:
        csv=made("claims_all", "csv"),
        md=made("claims_all", "md"),


rule claims_document:
    input:
        scores=lambda wildcards: [file for _, file in scored_so_far(wildcards.study)],
        tables=lambda wildcards: experiments_so_far(wildcards.study),
        printed=printed_tables,
        read_with_them=lambda wildcards: [
            str(CONFIG / "reference" / wildcards.study / name)
            for name in ("claims.yaml", "mapping.yaml", "margins.yaml", "margins.csv")
        ],
        stand_ins=lambda wildcards: list(stand_ins(wildcards).values()),
    output:
        made("claims_document"),
    localrule: True
    params:
        folder=lambda wildcards: str(CONFIG / "reference" / wildcards.study),
        rows=lambda wildcards: [row for row, _ in scored_so_far(wildcards.study)],
        stand_ins=lambda wildcards: list(stand_ins(wildcards)),
        rehearsal=PLAN.configuration.rehearsal is not None,
        source=stage_digest("claims.py"),
    script:
        "../workflow/scripts/claims.py"


rule claims_all:
    input:
        claimed,
    output:
        csv=made("claims_all", "csv"),
        md=made("claims_all", "md"),
    localrule: True
    params:
        source=stage_digest("claims_all.py"),
    script:
        "../workflow/scripts/claims_all.py"
