"""What Snakemake's scheduler does while jobs run."""

import pytest
from project import Project

pytestmark = pytest.mark.workflow


def test_waiting_jobs_are_looked_at_when_a_job_has_ended_and_not_every_second(tmp_path):
    project = Project(tmp_path)
    printed = project.snakemake("--verbose", "--", "karaman2021_figure_3_6", "audit")
    ended, looks = printed.count(" steps ("), printed.count("Ready jobs: ")
    assert ended >= 4
    assert looks <= ended + 1
