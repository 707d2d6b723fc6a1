"""Rule embed: the test images of a run, as vectors."""

from dmlbench.job import job
from dmlbench.training.gpus import gpu_lease
from dmlbench.training.prepared import take_prepared

with job(snakemake):
    spec, files = snakemake.params.spec, dict(snakemake.input.items())
    taken = take_prepared(
        spec,
        prepared=snakemake.params.get("prepared"),
        output=snakemake.output[0],
        **{name: files[name] for name in ("model", "last", "split")},
    )
    if not taken:
        # Here, because it imports torch.
        from dmlbench.training.export import export_embeddings

        with gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
            export_embeddings(
                spec,
                **files,
                device=snakemake.config["device"],
                threads=snakemake.threads,
                output=snakemake.output[0],
            )
