# Needs:  scores of the runs of a study, or of one of its views; printed numbers and trials of
#         searches, for the views that show them
# Leaves: <results>/studies/<study>/scores.parquet             every score of the study
#         <results>/studies/<study>/classes.parquet            of studies of several splits: the
#                                                              scores of each test class
#         <results>/studies/<study>/timings.csv                the cost of each run
#         <results>/studies/<study>/tournament.{csv,parquet}   the ranks of its methods
#         <results>/studies/<study>/tables/<table>.{csv,md,tex,html}
#         <results>/studies/<study>/figures/<figure>.{pdf,svg,png}


rule aggregate:
    input:
        unpack(inputs_of("aggregate")),
    output:
        scores=made("aggregate", "scores"),
        classes=made("aggregate", "classes"),
        runs=made("aggregate", "runs"),
    localrule: True
    params:
        rows=lambda wildcards: score_files.shown_rows(PLAN, wildcards.study),
        over_splits=lambda wildcards: [
            row for row, _ in score_files.answers_over_splits(PLAN, wildcards.study)
        ],
        source=stage_digest("aggregate.py"),
    script:
        "../workflow/scripts/aggregate.py"


rule timings:
    input:
        unpack(inputs_of("timings")),
    output:
        made("timings"),
    localrule: True
    params:
        runs=lambda wildcards: [run.folder for run in PLAN.runs(wildcards.study)],
        costs=f"{RESULTS}/{paths.COSTS}",
        source=stage_digest("timings.py"),
    script:
        "../workflow/scripts/timings.py"


rule tournament:
    input:
        unpack(inputs_of_view("tournament")),
    output:
        csv=made("tournament", "csv"),
        parquet=made("tournament", "parquet"),
    localrule: True
    params:
        facts=facts_of("tournament"),
        source=stage_digest("tournament.py"),
    script:
        "../workflow/scripts/tournament.py"


rule table:
    input:
        unpack(inputs_of_view("table")),
    output:
        csv=made("table", "csv"),
        md=made("table", "md"),
        tex=made("table", "tex"),
        html=reported("Tables", made("table", "html"), "table"),
    localrule: True
    params:
        facts=facts_of("table"),
        source=stage_digest("table.py", packages=("presentation/tables",)),
    script:
        "../workflow/scripts/table.py"


rule figure:
    input:
        unpack(inputs_of_view("figure")),
    output:
        pdf=made("figure", "pdf"),
        svg=reported("Figures", made("figure", "svg"), "figure"),
        png=made("figure", "png"),
    localrule: True
    params:
        facts=facts_of("figure"),
        source=stage_digest("figure.py", packages=("presentation/figures",)),
    script:
        "../workflow/scripts/figure.py"


rule embedding_map:
    input:
        unpack(inputs_of("embedding_map")),
    output:
        pdf=made("embedding_map", "pdf"),
        svg=reported("Figures", made("embedding_map", "svg"), "map"),
        png=made("embedding_map", "png"),
    params:
        facts=facts_of("map"),
        source=stage_digest("embedding_map.py"),
    script:
        "../workflow/scripts/embedding_map.py"
