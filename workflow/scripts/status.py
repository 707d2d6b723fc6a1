"""Rule status: print what is done, running, failed and missing, and how long the rest will take."""

import sys
from pathlib import Path

from dmlbench.job import job
from dmlbench.plan import reload
from dmlbench.plan.overview import status

with job(snakemake):
    loaded = reload(snakemake.config, Path(snakemake.params.folder))
    print("\n".join(status(loaded, gpu=snakemake.params.gpu)), file=sys.__stdout__)
