# Needs:  every view of the requested studies; other studies are shown if they are finished
# Leaves: <results>/report.html                 one page with all of them
#         <results>/studies/<study>/runs.html   all runs of a study, one by one
#         <results>/studies/<study>/neighbors   pictures on that page: nearest images of queries
#         <results>/studies/<study>/study.tex   all tables and figures of a study in one document


# Histories, queries, embeddings and specs are read if they exist: a page must not start a training.
rule neighbors:
    input:
        scores=made("aggregate", "scores"),
    output:
        directory(made("neighbors")),
    params:
        facts=lambda wildcards: pages.neighbors(PLAN, wildcards.study),
        source=stage_digest("neighbors.py"),
    script:
        "../workflow/scripts/neighbors.py"


rule run_browser:
    input:
        scores=made("aggregate", "scores"),
        neighbors=made("neighbors"),
        timings=made("timings"),
        templates=templates("runs.html", "report.css", "runs.css", "runs.js"),
    output:
        report(
            made("run_browser"),
            caption="../workflow/report/runs.rst",
            category="Runs",
            labels={"study": "{study}"},
        ),
    localrule: True
    params:
        facts=lambda wildcards: pages.browsed(PLAN, wildcards.study),
        source=stage_digest("runs.py"),
    script:
        "../workflow/scripts/runs.py"


rule document:
    input:
        content=lambda wildcards: pages.content(PLAN, wildcards.study),
    output:
        made("document"),
    localrule: True
    params:
        page=lambda wildcards: pages.page(PLAN, wildcards.study),
        source=stage_digest("document.py"),
    script:
        "../workflow/scripts/document.py"


rule report:
    input:
        pages=report_inputs,
        templates=templates("report.html", "report.css"),
    output:
        report(
            made("report"),
            caption="../workflow/report/page.rst",
            category="All studies",
            labels={"page": "all studies"},
        ),
    localrule: True
    params:
        as_they_are=reported_as_they_are,
        pages=lambda wildcards: [pages.page(PLAN, study) for study in reported_studies()],
        source=stage_digest("report.py"),
    script:
        "../workflow/scripts/report.py"
