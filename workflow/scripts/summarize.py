"""Print what a study found, where its files are, and what to run next; or what it still lacks.

python workflow/scripts/summarize.py demo
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from dmlbench import plan
from dmlbench.errors import UserError, entry
from dmlbench.plan import pages, paths
from dmlbench.plan.overview import of_one
from dmlbench.presentation.terminal import summary
from dmlbench.program import errors_in_one_line
from dmlbench.training.gpus import visible_gpus

NEXT = [
    ("real handwriting (a download of 16 MB)", "--cores all omniglot"),
    ("one table, and only what it needs", "--cores all demo_table_recall"),
    ("every target, with what it takes", "--cores 1 help"),
]


def snakemake() -> str:
    """Snakemake as it is called from here, whether or not its environment is activated."""
    command = Path(sys.executable).with_name("snakemake")
    executable = shutil.which("snakemake")
    if executable and Path(executable).samefile(command):
        return "snakemake"
    return shlex.quote(os.path.relpath(command))


def summarized(study: str, config: Path) -> str:
    """A finished study's summary; raises a UserError that says what an unfinished one lacks."""
    loaded = plan.load_folder(config)
    entry("study", study, loaded.studies)
    page = pages.page(loaded, study)
    if not all(Path(file).exists() for file in pages.files(loaded, study)):
        lines = [*of_one(loaded, study, gpu=bool(visible_gpus())), "to finish it:"]
        raise UserError("\n".join([*lines, f"  {snakemake()} --cores all {study}"]))
    report = f"{loaded.configuration.pathvars.results}/{paths.made('report')}"
    steps = [line for why, how in NEXT for line in (f"{why}:", f"  {snakemake()} {how}")]
    return summary(page, report=report, next_steps=steps)


if __name__ == "__main__":
    with errors_in_one_line():
        print(summarized(sys.argv[1], Path(__file__).resolve().parents[2] / "config"))
