"""Rule embed: images of a run, as vectors."""

from pathlib import Path

from dmlbench.garbage import without_collections
from dmlbench.job import job
from dmlbench.plan.catalogs.read import checked, read_mapping
from dmlbench.plan.specs.run import check_folder
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.gpus import gpu_lease
from dmlbench.training.prepared import take_prepared

with job(snakemake):
    files = dict(snakemake.input.items())
    file = Path(files.pop("spec"))
    spec = read_mapping(file)
    check_folder(checked(spec, Spec, where=str(file)), file.parent)
    made_of = {name: files[name] for name in ("model", "last", "split")}
    prepared, output = snakemake.params.prepared, snakemake.output[0]
    if not take_prepared(spec, prepared=prepared, output=output, **made_of):
        # Here, because it imports torch.
        with without_collections():
            from dmlbench.training.export import export_embeddings

        with gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
            export_embeddings(
                spec,
                **files,
                device=snakemake.config["device"],
                threads=snakemake.params.threads,
                output=output,
                roles=snakemake.params.roles,
            )
