"""What a real Slurm refuses or cuts: a call says so and ends."""

import pytest
from slurm_project import GROUP, METHOD, QUICK, Project, slurm

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.mark.parametrize(
    ("account", "message"),
    [
        (None, "account: is missing"),
        ("nobodys", "account: unknown name 'nobodys'; allowed: ml, root"),
    ],
)
def test_a_missing_or_wrong_account_is_a_clear_error(tmp_path, account, message):
    project = Project(tmp_path, QUICK)
    project.describe_site(account=account)
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 1
    assert f"dmlbench: profiles/slurm/site.yaml: {message}" in call.output
    assert call.jobs() == []


@pytest.fixture(
    params=[
        ("AllowAccounts=root", "AllowAccounts=ALL", "Invalid account or account/partition"),
        ("AllowQos=none", "AllowQos=ALL", "Invalid qos"),
        ("State=INACTIVE", "State=UP", "Required partition not available"),
    ],
    ids=["account", "qos", "partition"],
)
def closed(request):
    """The partition with a GPU accepts no jobs; what Slurm says of it."""
    refuses, accepts, said = request.param
    slurm("scontrol", "update", "PartitionName=gpu", refuses)
    yield said
    slurm("scontrol", "update", "PartitionName=gpu", accepts)


def test_what_slurm_says_of_a_refused_run_is_printed(tmp_path, prepared, closed):
    project = prepared(tmp_path, QUICK)
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 1
    said = f"dmlbench: {GROUP} {project.path(METHOD)} was not submitted: "
    lines = [line for line in call.output.splitlines() if line.startswith(said)]
    assert len(lines) == 2
    assert closed in lines[0]
    assert "message: None" not in call.output
    assert "where they may run in profiles/slurm/site.yaml" in call.output
    status = project.snakemake("--cores", "1", "status")
    assert status.wait() == 0
    assert "interrupted or killed" not in status.output


def test_an_error_before_a_run_is_submitted_ends_the_call(tmp_path, prepared):
    project = prepared(tmp_path, QUICK)
    # The plugin takes the account as a resource only.
    refused = ("--default-resources", "slurm_account='ml'", "slurm_extra='--account=ml'")
    call = project.on_slurm(*refused, "--", project.scores(METHOD))
    assert call.wait() == 1
    assert "was not submitted: The --account option is not allowed" in call.output


def test_a_run_gets_the_time_and_the_retry_that_its_partition_allows(tmp_path, prepared):
    project = prepared(tmp_path, QUICK, {"train": {"runtime": 2000}})
    # By the limits of Slurm alone, which are a day.
    project.describe_site(partitions={"gpu": {"max_gpu": 1, "max_threads": 1}})
    cut = "train: runtime: 2000 minutes are more than the 1440 of partition gpu"
    dry = project.on_slurm("-n", project.scores(METHOD))
    assert dry.wait() == 0
    assert cut in dry.output
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 0, call.output
    assert cut in call.output
    assert [(job.rules, job.minutes) for job in call.jobs()] == [(GROUP, 1440)]


def test_memory_that_no_node_has_ends_a_dry_run(tmp_path, prepared):
    project = prepared(tmp_path, QUICK, {"train": {"mem_mb": 10**7}})
    for arguments in (("-n",), ()):
        call = project.on_slurm(*arguments, project.scores(METHOD))
        assert call.wait() == 1
        assert (
            "config/resources.yaml: train: 10000000 MB and 1 GPUs are more than a node has"
            in call.output
        )
        assert call.jobs() == []
