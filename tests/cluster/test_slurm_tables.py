"""A table of a paper, rehearsed as its page says, on partitions as sites have them."""

import pytest
from slurm_project import GROUP, PATIENCE, Clone, slurm

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.usefixtures("cluster")]

TABLE = "results/rehearsal/studies/psomas2020/tables/11.csv"
REHEARSAL = ("--configfile", "config/config.yaml", "config/rehearsal.yaml")


@pytest.fixture
def minutes(request):
    """The time limit of the default partition, from sites that say nothing but the account."""
    (name,) = (line.rstrip("*") for line in slurm("sinfo", "-h", "-o", "%P") if "*" in line)
    (before,) = slurm("sinfo", "-h", "-p", name, "-o", "%l")
    slurm("scontrol", "update", f"PartitionName={name}", f"MaxTime={request.param}")
    yield request.param
    slurm("scontrol", "update", f"PartitionName={name}", f"MaxTime={before}")


# The shorter limit with several runs in a job, as docs/scaling.md advises for short trainings.
@pytest.mark.parametrize(
    ("minutes", "runs_in_a_job"),
    [pytest.param(24 * 60, 1, id="24 hours"), pytest.param(2 * 60, 5, id="2 hours")],
    indirect=["minutes"],
)
def test_a_papers_table_runs_whole_within_the_time_limit(tmp_path, minutes, runs_in_a_job):
    project = Clone(tmp_path)
    project.describe_site(account="ml")
    # Each job plans all studies, of which this call needs one.
    project.edit("config/config.yaml", lambda old: old | {"studies": ["psomas2020"]})
    grouped = ("--group-components", f"run={runs_in_a_job}", "combine=20", "--")
    call = project.on_slurm(*REHEARSAL, *grouped, "psomas2020_table_11", profile="slurm")
    assert call.wait(6 * PATIENCE) == 0, call.output
    assert (tmp_path / TABLE).exists()
    data, *runs = call.jobs()
    assert (data.rules, data.minutes) == ("data_draw_index_pack", min(minutes, 30 + 60 + 240))
    asked = [(GROUP, minutes, 1)] * (10 // runs_in_a_job)
    assert [(job.rules, job.minutes, job.gpus) for job in runs] == asked
    assert {job.state for job in (data, *runs)} == {"COMPLETED"}
    cut = f"train: runtime: 1440 minutes are more than the {minutes} of partition"
    assert (cut in call.output) == (minutes < 1440)
    again = project.on_slurm(*REHEARSAL, "--", "psomas2020_table_11", profile="slurm")
    assert again.wait() == 0, again.output
    assert "Nothing to be done" in again.output
