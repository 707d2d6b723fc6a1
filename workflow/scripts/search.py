"""Rule search: what the trials of a search found, and the scores of the tuned network."""

from dmlbench.job import job
from dmlbench.search.jobs import sum_up
from dmlbench.training.gpus import gpu_lease

with job(snakemake), gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
    data = dict(snakemake.input.items())
    del data["workers"]
    sum_up(
        snakemake.wildcards.search,
        snakemake.params.facts,
        folder=snakemake.params.folder,
        arguments={**data, "device": snakemake.config["device"], "threads": snakemake.threads},
        metrics=snakemake.params.metrics,
        **dict(snakemake.output.items()),
    )
