# Needs:  scores of the runs of a study, or of one of its views; printed numbers and trials of
#         searches, for the views that show them
# Leaves: <results>/studies/<study>/scores.parquet             every score of the study
#         <results>/studies/<study>/timings.csv                the cost of each run
#         <results>/studies/<study>/tournament.csv             the ranks of its methods
#         <results>/studies/<study>/tables/<table>.{csv,md,tex,html}
#         <results>/studies/<study>/figures/<figure>.{pdf,svg,png}


rule aggregate:
    input:
        scores=lambda wildcards: scores_of(wildcards.study, None, study_of(wildcards).measures),
        tables=lambda wildcards: experiments_of(study_of(wildcards).experiments),
    output:
        scores="<results>/studies/{study}/scores.parquet",
        runs="<results>/studies/{study}/runs.csv",
    log:
        "<results>/logs/aggregate/{study}.log",
    benchmark:
        "<results>/costs/aggregate/{study}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("aggregate"),
    params:
        rows=lambda wildcards: views.shown_rows(PLAN, wildcards.study),
        source=stage_digest("aggregate.py"),
    script:
        "../workflow/scripts/aggregate.py"


rule timings:
    input:
        scores=lambda wildcards: scores_of(wildcards.study),
    output:
        "<results>/studies/{study}/timings.csv",
    log:
        "<results>/logs/timings/{study}.log",
    benchmark:
        "<results>/costs/timings/{study}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("timings"),
    params:
        runs=lambda wildcards: [run.folder for run in PLAN.runs(wildcards.study)],
        costs=f"{RESULTS}/costs",
        source=stage_digest("timings.py"),
    script:
        "../workflow/scripts/timings.py"


rule tournament:
    input:
        scores=view_scores("tournament"),
        queries=view_queries("tournament"),
    output:
        "<results>/studies/{study}/tournament.csv",
    log:
        "<results>/logs/tournament/{study}.log",
    benchmark:
        "<results>/costs/tournament/{study}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("tournament"),
    params:
        facts=view_facts("tournament"),
        source=stage_digest("tournament.py"),
    script:
        "../workflow/scripts/tournament.py"


rule table:
    input:
        scores=view_scores("table"),
        tables=view_experiments("table"),
        queries=table_queries,
        printed=view_printed("table"),
        mapping=view_mapping("table"),
        trials=table_trials,
    output:
        csv="<results>/studies/{study}/tables/{table}.csv",
        md="<results>/studies/{study}/tables/{table}.md",
        tex="<results>/studies/{study}/tables/{table}.tex",
        html=reported("Tables", "<results>/studies/{study}/tables/{table}.html", "table"),
    log:
        "<results>/logs/table/{study}/{table}.log",
    benchmark:
        "<results>/costs/table/{study}/{table}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("table"),
    params:
        facts=view_facts("table"),
        source=stage_digest("table.py", packages=("presentation/tables",)),
    script:
        "../workflow/scripts/table.py"


rule figure:
    input:
        scores=view_scores("figure"),
        tables=view_experiments("figure"),
        arrays=figure_arrays,
        printed=view_printed("figure"),
        mapping=view_mapping("figure"),
    output:
        pdf="<results>/studies/{study}/figures/{figure}.pdf",
        svg=reported("Figures", "<results>/studies/{study}/figures/{figure}.svg", "figure"),
        png="<results>/studies/{study}/figures/{figure}.png",
    log:
        "<results>/logs/figure/{study}/{figure}.log",
    benchmark:
        "<results>/costs/figure/{study}/{figure}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("figure"),
    params:
        facts=view_facts("figure"),
        source=stage_digest("figure.py", packages=("presentation/figures",)),
    script:
        "../workflow/scripts/figure.py"


rule embedding_map:
    input:
        unpack(map_inputs),
    output:
        pdf="<results>/studies/{study}/figures/map_{map}.pdf",
        svg=reported("Figures", "<results>/studies/{study}/figures/map_{map}.svg", "map"),
        png="<results>/studies/{study}/figures/map_{map}.png",
    log:
        "<results>/logs/embedding_map/{study}/{map}.log",
    benchmark:
        "<results>/costs/embedding_map/{study}/{map}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("embedding_map"),
    params:
        facts=view_facts("map"),
        source=stage_digest("embedding_map.py"),
    script:
        "../workflow/scripts/embedding_map.py"
