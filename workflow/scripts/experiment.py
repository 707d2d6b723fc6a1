"""Rule experiment: one experiment for one seed, its table and its arrays."""

from dmlbench.experiments import run_experiment
from dmlbench.job import job

with job(snakemake):
    options = dict(snakemake.params.experiment)
    run_experiment(
        options.pop("name"),
        options,
        int(snakemake.wildcards.seed),
        table=snakemake.output.table,
        arrays=snakemake.output.arrays,
        threads=snakemake.threads,
    )
