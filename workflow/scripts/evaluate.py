"""Rule evaluate: the scores of a run, in long format."""

from dmlbench.evaluation.run_scores import write_scores
from dmlbench.job import job

with job(snakemake):
    write_scores(
        snakemake.wildcards.run,
        embeddings=snakemake.input.embeddings,
        metrics=snakemake.params.metrics,
        threads=snakemake.threads,
        output=snakemake.output[0],
    )
