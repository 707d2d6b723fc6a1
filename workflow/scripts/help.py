"""Rule help: list every target by name, with its state and remaining time."""

from pathlib import Path

from dmlbench.job import job, print_on_terminal
from dmlbench.plan import reload
from dmlbench.plan.costs.status_lines import targets

with job(snakemake):
    loaded = reload(snakemake.config, Path(snakemake.params.folder))
    print_on_terminal(targets(loaded, gpu=snakemake.params.gpu))
