"""Rule download: one archive, from a mirror or its published address."""

from dmlbench.data.download import download, mirrors
from dmlbench.job import job

with job(snakemake):
    archive = snakemake.params.archive
    download(
        name=snakemake.wildcards.archive,
        dataset=snakemake.wildcards.dataset,
        **snakemake.params.sources,
        bytes=archive["bytes"],
        sha256=archive["sha256"],
        md5=archive["md5"],
        mirrors=mirrors(snakemake.config["data"]["mirrors"]),
        mirror_sha256=archive["mirror_sha256"],
        output=snakemake.output[0],
    )
