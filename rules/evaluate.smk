# Needs:  <results>/runs/<run>/embeddings.parquet; of training images for some measures
#         <results>/runs/<run>/history.parquet, if metrics are also shown at their own best epoch
# Leaves: <results>/runs/<run>/scores.parquet               one row per role, selection and metric
#         <results>/runs/<run>/queries.parquet              one row per role, selection and query
#         <results>/runs/<run>/measures/<measure>.parquet   additional scores that a study requests
#         <results>/runs/<run>/measures/<measure>.npz       its arrays
#         <results>/combined/<combination>/<form>.parquet   scores of several folds together


rule evaluate:
    input:
        unpack(inputs_of("evaluate")),
    output:
        scores=made("evaluate", "scores"),
        queries=made("evaluate", "queries"),
    priority: 1
    threads: threads_of
    params:
        metrics=lambda wildcards: PLAN.metrics(run_of(wildcards)),
        distance=lambda wildcards: run_of(wildcards).spec.evaluation_distance,
        epoch_metrics=lambda wildcards: run_of(wildcards).spec.own_best_metrics,
        source=stage_digest("evaluate.py"),
    script:
        "../workflow/scripts/evaluate.py"


rule measure:
    input:
        unpack(inputs_of("measure")),
    output:
        scores=made("measure", "scores"),
        arrays=made("measure", "arrays"),
    threads: threads_of
    params:
        measure=lambda wildcards: PLAN.measures[wildcards.measure].model_dump(exclude={"title"}),
        distance=lambda wildcards: run_of(wildcards).spec.evaluation_distance,
        source=stage_digest("measure.py"),
    script:
        "../workflow/scripts/measure.py"


rule combine:
    input:
        unpack(inputs_of("combine")),
    output:
        made("combine"),
    threads: 4
    params:
        metrics=combined_metrics,
        source=stage_digest("combine.py"),
    script:
        "../workflow/scripts/combine.py"
