# Needs:  nothing
# Leaves: <results>/experiments/<experiment>/seed<n>.parquet   a long table
#         <results>/experiments/<experiment>/seed<n>.npz       arrays
#         <experiment> is its name with a digest of its options


rule experiment:
    output:
        table="<results>/experiments/{experiment}/seed{seed}.parquet",
        arrays="<results>/experiments/{experiment}/seed{seed}.npz",
    log:
        "<results>/logs/experiment/{experiment}/seed{seed}.log",
    benchmark:
        "<results>/costs/experiment/{experiment}/seed{seed}.tsv"
    conda:
        ENVIRONMENT
    threads: lambda wildcards: experiment_of(wildcards).threads
    resources:
        **needs_of("experiment"),
    params:
        experiment=lambda wildcards: experiment_of(wildcards).experiment.model_dump(),
    script:
        "../workflow/scripts/experiment.py"
