"""Rule embedding_map: embeddings in the plane, drawn with their images."""

from dmlbench.job import job
from dmlbench.presentation.view_files import write_embedding_map

with job(snakemake):
    write_embedding_map(
        snakemake.input.embeddings,
        snakemake.params.facts,
        pixels=snakemake.input.pixels,
        pixel_table=snakemake.input.pixel_table,
        **dict(snakemake.output.items()),
    )
