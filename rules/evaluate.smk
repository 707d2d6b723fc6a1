# Needs:  <results>/runs/<run>/embeddings.parquet; of training images for some measures
# Leaves: <results>/runs/<run>/scores.parquet               one row per role, selection and metric
#         <results>/runs/<run>/queries.parquet              one row per role, selection and query
#         <results>/runs/<run>/measures/<measure>.parquet   additional scores that a study requests
#         <results>/runs/<run>/measures/<measure>.npz       its arrays
#         <results>/combined/<combination>/<form>.parquet   scores of several folds together


rule evaluate:
    input:
        embeddings="<results>/runs/{run}/embeddings.parquet",
    output:
        scores="<results>/runs/{run}/scores.parquet",
        queries="<results>/runs/{run}/queries.parquet",
    log:
        "<results>/logs/evaluate/{run}.log",
    benchmark:
        "<results>/costs/evaluate/{run}.tsv"
    priority: 1
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        **needs_of("evaluate"),
    params:
        metrics=lambda wildcards: PLAN.metrics(run_of(wildcards)),
        source=stage_digest("evaluate.py"),
    script:
        "../workflow/scripts/evaluate.py"


rule measure:
    input:
        embeddings=measured_embeddings,
    output:
        scores="<results>/runs/{run}/measures/{measure}.parquet",
        arrays="<results>/runs/{run}/measures/{measure}.npz",
    log:
        "<results>/logs/measure/{run}/{measure}.log",
    benchmark:
        "<results>/costs/measure/{run}/{measure}.tsv"
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        **needs_of("measure"),
    params:
        measure=lambda wildcards: measure_of(wildcards).model_dump(exclude={"title"}),
        source=stage_digest("measure.py"),
    script:
        "../workflow/scripts/measure.py"


rule combine:
    input:
        embeddings=combined_embeddings,
    output:
        "<results>/combined/{combination}/{form}.parquet",
    log:
        "<results>/logs/combine/{combination}/{form}.log",
    benchmark:
        "<results>/costs/combine/{combination}/{form}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        **needs_of("combine"),
    params:
        metrics=combined_metrics,
        source=stage_digest("combine.py"),
    script:
        "../workflow/scripts/combine.py"
