# Needs:  every view of the studies that were run or are asked for now
# Leaves: <results>/report.html   one page with all of them


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
        **NEEDS.of("report"),
    params:
        pages=lambda wildcards: [pages.page(PLAN, study) for study in reported_studies()],
        source=stage_digest("report.py"),
    script:
        "../workflow/scripts/report.py"
