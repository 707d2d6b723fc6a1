"""Rule measure: metrics and arrays of one role's embeddings of a run."""

from dmlbench.evaluation.measures import write_measure
from dmlbench.job import job
from dmlbench.without_pandas import do_without_pandas

do_without_pandas()
with job(snakemake):
    write_measure(
        embeddings=snakemake.input.embeddings,
        **snakemake.params.measure,
        distance=snakemake.params.distance,
        threads=snakemake.threads,
        output=snakemake.output.scores,
        arrays_output=snakemake.output.arrays,
    )
