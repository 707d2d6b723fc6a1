"""Rule timings: what each run of a study cost, from Snakemake's benchmark files."""

from dmlbench.job import job
from dmlbench.plan import paths
from dmlbench.statistics.timings import timings

with job(snakemake):
    results = snakemake.params.results
    files = {
        run: {
            stage: f"{results}/{paths.cost(stage, run=run)}"
            for stage in ("train", "embed", "evaluate")
        }
        for run in snakemake.params.runs
    }
    timings(files, output=snakemake.output[0])
