"""Rule help: list every target by name, with its state and remaining time."""

import sys
from pathlib import Path

from dmlbench.job import job
from dmlbench.plan import reload
from dmlbench.plan.overview import targets

with job(snakemake):
    loaded = reload(snakemake.config, Path(snakemake.params.folder))
    print("\n".join(targets(loaded, gpu=snakemake.params.gpu)), file=sys.__stdout__)
