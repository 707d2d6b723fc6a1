"""Print what a finished study found, where its files are, and what to run next.

python workflow/scripts/summarize.py demo
"""

import sys
from pathlib import Path

import yaml
from dmlbench import plan
from dmlbench.plan import pages
from dmlbench.presentation.terminal import summary

NEXT = [
    "snakemake --cores all omniglot                  real handwriting (a download of 16 MB)",
    "snakemake --cores all demo_table_recall         one table and what it needs",
    "snakemake --dry-run                             what everything would run",
]

if __name__ == "__main__":
    config = Path(__file__).resolve().parents[2] / "config"
    loaded = plan.load(yaml.safe_load((config / "config.yaml").read_text()), config)
    report = f"{loaded.configuration.pathvars.results}/report.html"
    print(summary(pages.page(loaded, sys.argv[1]), report=report, next_steps=NEXT))
