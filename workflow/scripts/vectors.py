"""Rule vectors: the vectors of a data set of features, as heads train on them."""

from dmlbench.data.given import take_vectors
from dmlbench.job import job

with job(snakemake):
    take_vectors(
        snakemake.input.index,
        snakemake.input.archives,
        snakemake.output[0],
        **snakemake.params.expected,
    )
