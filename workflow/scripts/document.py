"""Rule document: a study with all of its tables and figures as one LaTeX document."""

from dmlbench.job import job
from dmlbench.presentation.document import write_document

with job(snakemake):
    write_document(snakemake.params.page, snakemake.output[0])
