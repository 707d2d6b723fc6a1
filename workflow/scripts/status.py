"""Rules status, <study>_status: print what is done, running, failed, missing, and the time left."""

from pathlib import Path

from dmlbench.job import job, print_on_terminal
from dmlbench.plan import reload
from dmlbench.plan.costs.status_lines import status

with job(snakemake):
    loaded = reload(snakemake.config, Path(snakemake.params.folder))
    print_on_terminal(status(loaded, gpu=snakemake.params.gpu, only=snakemake.params.only))
