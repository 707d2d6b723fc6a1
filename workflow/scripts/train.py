"""Rule train: one run, or the rest of one from its checkpoint."""

from dmlbench.garbage import without_collections
from dmlbench.job import job
from dmlbench.search.best import with_best
from dmlbench.training.gpus import gpu_lease
from dmlbench.training.kept import keep, put_back
from dmlbench.without_pandas import do_without_pandas

do_without_pandas()
with job(snakemake) as running:
    data, outputs = dict(snakemake.input.items()), dict(snakemake.output.items())
    spec = with_best(snakemake.params.spec, data.pop("best", None))
    running.is_restored = put_back(snakemake.output, spec)
    if not running.is_restored:
        # Here, because it imports torch.
        with without_collections():
            from dmlbench.training.loop import train

        config, gpus = snakemake.config, spec.get("gpus", 1)
        with gpu_lease(config["device"], config["runs_per_gpu"], gpus):
            train(
                spec,
                **data,
                device=config["device"],
                threads=snakemake.params.threads,
                spec_file=outputs.pop("spec"),
                **outputs,
                prepared=snakemake.params.prepared,
                prepared_train=snakemake.params.prepared_train,
            )
        keep(snakemake.output)
