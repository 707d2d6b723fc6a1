"""Rule train: one run, or the rest of one from its checkpoint."""

from dmlbench.job import job
from dmlbench.search.best import with_best
from dmlbench.training.gpus import gpu_lease
from dmlbench.training.loop import train

with job(snakemake), gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
    data = dict(snakemake.input.items())
    train(
        with_best(snakemake.params.spec, data.pop("best", None)),
        **data,
        device=snakemake.config["device"],
        threads=snakemake.threads,
        spec_file=snakemake.output.spec,
        model=snakemake.output.model,
        last=snakemake.output.last,
        history=snakemake.output.history,
        prepared=snakemake.params.get("prepared"),
    )
