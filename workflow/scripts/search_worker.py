"""Rule search_worker: trials of a search, until its budget is spent."""

from dmlbench.job import job
from dmlbench.search.worker_job import run_worker
from dmlbench.training.gpus import gpu_lease

with job(snakemake), gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
    run_worker(
        snakemake.params.name,
        snakemake.params.facts,
        folder=snakemake.params.folder,
        output=snakemake.output[0],
        **dict(snakemake.input.items()),
        device=snakemake.config["device"],
        threads=snakemake.params.threads,
    )
