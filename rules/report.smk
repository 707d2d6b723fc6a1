# Needs:  every view of the studies that were run or are asked for now
# Leaves: <results>/report.html   one page with all of them


def reported_studies():
    """The studies asked for in this call, and those that an earlier one has finished."""
    asked = set(workflow.dag_settings.targets) or {"all"}
    return [
        study
        for study in PLAN.studies
        if asked & {study, "all"} or Path(RESULTS, "studies", study, "tournament.csv").exists()
    ]


def report_inputs(wildcards):
    return [file for study in reported_studies() for file in pages.files(PLAN, study)]


rule report:
    input:
        pages=report_inputs,
        templates=[
            os.path.relpath(LIBRARY / "dmlbench" / "presentation" / "templates" / name)
            for name in ("report.html", "report.css")
        ],
    output:
        "<results>/report.html",
    log:
        "<results>/logs/report.log",
    benchmark:
        "<results>/costs/report.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        pages=lambda wildcards: [pages.page(PLAN, study) for study in reported_studies()],
        source=stage_digest("report.py"),
    script:
        "../workflow/scripts/report.py"
