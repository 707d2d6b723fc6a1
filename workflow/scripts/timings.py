"""Rule timings: what each run of a study cost, from Snakemake's benchmark files."""

from dmlbench.job import job
from dmlbench.statistics.timings import timings

with job(snakemake):
    costs = snakemake.params.costs
    files = {
        run: {stage: f"{costs}/{stage}/{run}.tsv" for stage in ("train", "embed", "evaluate")}
        for run in snakemake.params.runs
    }
    timings(files, output=snakemake.output[0])
