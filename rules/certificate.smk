# Needs:  the published scores of a study, and a share of its runs, trained again here
# Leaves: <results>/certificates/<study>.{md,csv}   whether each score is the published one (target:
#                                                   reproduced_<study>)


rule certificate:
    input:
        unpack(inputs_of("certificate")),
    output:
        md=made("certificate", "md"),
        csv=made("certificate", "csv"),
    localrule: True
    params:
        facts=lambda wildcards: certified_runs.facts(PLAN, wildcards.study),
        source=stage_digest("certificate.py"),
    script:
        "../workflow/scripts/certificate.py"


for study in sorted(PLAN.studies.keys() & published_runs.published_studies(PLAN)):

    rule:
        name:
            f"reproduced_{study}"
        input:
            made("certificate", "md", study=study),
        localrule: True
