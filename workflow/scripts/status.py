"""Rule status: print what is done, running, failed and missing, and how long the rest will take."""

from pathlib import Path

from dmlbench.job import job, print_on_terminal
from dmlbench.plan import reload
from dmlbench.plan.overview import status

with job(snakemake):
    loaded = reload(snakemake.config, Path(snakemake.params.folder))
    print_on_terminal(status(loaded, gpu=snakemake.params.gpu))
