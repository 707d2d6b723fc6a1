# Needs:  <results>/runs/<run>/embeddings.parquet
# Leaves: <results>/runs/<run>/scores.parquet    a row a role, selection and metric
#         <results>/runs/<run>/queries.parquet   a row a role, selection and query


rule evaluate:
    input:
        embeddings=lambda wildcards: embeddings_of(plan.Run.parse(wildcards.run)),
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
        **NEEDS.of("evaluate"),
    params:
        metrics=lambda wildcards: PLAN.datasets[spec_of(wildcards).dataset].metrics,
        source=stage_digest("evaluate.py"),
    script:
        "../workflow/scripts/evaluate.py"
