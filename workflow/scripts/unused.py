"""Rule unused: list, and on request remove, results that no study uses any more."""

from pathlib import Path

from dmlbench.job import job, print_on_terminal
from dmlbench.plan.catalogs.configuration import Configuration
from dmlbench.plan.records.unused import remove, report, unused

with job(snakemake):
    folders = unused(Configuration.model_validate(snakemake.config), Path(snakemake.params.folder))
    lines = report(folders)
    if snakemake.params.delete:
        remove(folders)
        lines.append("removed")
    elif folders:
        lines.append("to remove them: snakemake --cores 1 unused --config remove=true")
    print_on_terminal(lines)
