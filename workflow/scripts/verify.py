"""Rule verify: print for each study whether its files are complete, damaged, stale or mixed."""

from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.job import job, print_on_terminal
from dmlbench.plan import reload
from dmlbench.plan.records.verify import verify

with job(snakemake):
    loaded = reload(snakemake.config, Path(snakemake.params.folder))
    lines, bad = verify(loaded, snakemake.params.sources)
    print_on_terminal(lines)
    if bad:
        raise UserError(f"damaged, stale or mixed: {', '.join(bad)}")
