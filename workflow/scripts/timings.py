"""Rule timings: what each run of a study cost, from Snakemake's benchmark files."""

from dmlbench.job import job
from dmlbench.plan import paths
from dmlbench.statistics.timings import timings

with job(snakemake):
    costs = snakemake.params.costs
    files = {
        run: {
            stage: f"{costs}/{paths.job(stage, run=run)}.tsv"
            for stage in ("train", "embed", "evaluate")
        }
        for run in snakemake.params.runs
    }
    timings(files, output=snakemake.output[0])
