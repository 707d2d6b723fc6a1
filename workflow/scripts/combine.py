"""Rule combine: the scores of several folds' embeddings together."""

from dmlbench.evaluation.combined_scores import write_combined_scores
from dmlbench.job import job
from dmlbench.without_pandas import do_without_pandas

do_without_pandas()
with job(snakemake):
    write_combined_scores(
        snakemake.input.embeddings,
        form=snakemake.wildcards.form,
        metrics=snakemake.params.metrics,
        threads=snakemake.threads,
        output=snakemake.output[0],
    )
