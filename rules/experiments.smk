# Needs:  nothing
# Leaves: <results>/experiments/<experiment>/seed<n>.parquet   a long table
#         <results>/experiments/<experiment>/seed<n>.npz       arrays
#         <experiment> is its name with a digest of its options


rule experiment:
    output:
        table=made("experiment", "table"),
        arrays=made("experiment", "arrays"),
    log:
        log_of("experiment"),
    benchmark:
        cost_of("experiment")
    conda:
        ENVIRONMENT
    threads: lambda wildcards: experiment_of(wildcards).threads
    resources:
        **needs_of("experiment"),
    params:
        experiment=lambda wildcards: experiment_of(wildcards).experiment.model_dump(),
    script:
        "../workflow/scripts/experiment.py"
