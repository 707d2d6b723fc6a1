# Needs:  nothing
# Leaves: <results>/experiments/<experiment>/seed<n>.parquet   a long table
#         <results>/experiments/<experiment>/seed<n>.npz       arrays
#         <experiment> is its name with a digest of its options


rule experiment:
    output:
        table=made("experiment", "table"),
        arrays=made("experiment", "arrays"),
    threads: lambda wildcards: experiment_of(wildcards).threads
    params:
        experiment=lambda wildcards: experiment_of(wildcards).experiment.model_dump(),
        code=code_of(modules_of_experiment),
    script:
        "../workflow/scripts/experiment.py"
