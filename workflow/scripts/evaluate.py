"""Rule evaluate: the scores of a run, in long format, and what each query found."""

from pathlib import Path

from dmlbench.evaluation.run_scores import write_scores
from dmlbench.job import job
from dmlbench.training.checkpoint_cleanup import remove_checkpoints
from dmlbench.without_pandas import do_without_pandas

do_without_pandas()
with job(snakemake):
    write_scores(
        embeddings=snakemake.input.embeddings,
        metrics=snakemake.params.metrics,
        distance=snakemake.params.distance,
        threads=snakemake.threads,
        output=snakemake.output.scores,
        queries=snakemake.output.queries,
        history=snakemake.input.get("history"),
        epoch_metrics=snakemake.params.epoch_metrics,
    )
    remove_checkpoints(Path(snakemake.output.scores).parent)
