"""Whether needs of jobs fit a cluster, and what a Slurm says: here programs with its words."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs import slurm
from dmlbench.plan.catalogs.job_resources import Resources, Site, read_site
from dmlbench.plan.costs.progress import Progress, Stage
from project import CONFIG, REPOSITORY
from snakemake.resources import Resources as Defaults

SINFO = """\
cpu*|2:00:00|4|8000|(null)
cpu*|2:00:00|64|500000|(null)
gpu|1-00:00:00|16|64000|gpu:a100:4(S:0-1),gpu:v100:2
long|infinite|16|32000|gpu:v100:1
"""
ACCOUNTS = "ml|normal,long\nML2|normal\n"
QOS = "normal|\nlong|04:00:00\n"
ANSWERS = {
    "sinfo": SINFO,
    "scontrol": "PartitionName=long AllowGroups=ALL MaxMemPerNode=30000 MaxTime=UNLIMITED\n"
    "PartitionName=gpu AllowGroups=ALL MaxMemPerNode=UNLIMITED\n",
    "sacctmgr": ACCOUNTS,
    "sacctmgr list qos": QOS,
    "squeue": "",
    "scancel": "",
}


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """A function that makes Slurm's programs print something; each writes how it was called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs), prepend=":")

    def say(**answers: str | None) -> None:
        for call, text in answers.items():
            name, _, words = call.partition(" ")
            said = "exit 1\n" if text is None else f"cat <<'END'\n{text}END\n"
            program = programs / name
            if words:
                # Before what it says otherwise.
                asked = f'case "$*" in *"{words}"*)\n{said}exit\nesac\n'
                head, _, rest = program.read_text().partition(".asked\n")
                program.write_text(f"{head}.asked\n{asked}{rest}")
            else:
                program.write_text(f'#!/bin/sh\necho "$@" >> {programs}/{name}.asked\n{said}')
            program.chmod(0o755)
        forget()

    def forget():
        for asked in (slurm.nodes, slurm.accounts, slurm.longest_by_qos):
            asked.cache_clear()

    say(**ANSWERS)
    yield say
    forget()


@pytest.fixture
def written(tmp_path):
    """A function that writes a site.yaml."""

    def write(text: str) -> Path:
        file = tmp_path / "site.yaml"
        file.write_text(text)
        return file

    return write


def resources(site: Site | None = None) -> Resources:
    return Resources(CONFIG / "resources.yaml", site)


def asks(found: Resources, rule: str, attempt: int) -> tuple[int, int]:
    needs = found.of(rule)
    return needs["mem_mb"](None, attempt=attempt), needs["runtime"](None, attempt=attempt)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        (90, 90),
        ("90", 90),
        ("2d", 2880),
        ("1d12h", 2160),
        ("1-12:00:00", 2160),
        ("2:00:00", 120),
        ("30:00", 30),
        ("infinite", float("inf")),
    ],
)
def test_times_are_read_as_slurm_and_people_write_them(text, minutes):
    assert slurm.minutes(text) == minutes


def test_nodes_have_limits_and_gpus_by_model(answer):
    found = slurm.nodes()
    assert [each.partition for each in found] == ["cpu", "cpu", "gpu", "long"]
    assert [each.is_default for each in found] == [True, True, False, False]
    assert found[0][2:] == (120, 4, 8000, {})
    assert found[2].gpus == {"a100": 4, "v100": 2}
    # Of its 32,000 MB, a job may have what the partition allows.
    assert found[3].mem_mb == 30000
    assert (found[2].gpus_of(None), found[2].gpus_of("a100"), found[3].gpus_of("a100")) == (6, 4, 0)


def test_a_call_asks_slurm_once(answer, written, tmp_path):
    site = read_site(written("account: ml\npartitions: {gpu: {}}"))
    resources(site)
    assert site.cores
    for program, times in (("sinfo", 1), ("scontrol", 1), ("sacctmgr", 2)):
        assert len((tmp_path / "bin" / f"{program}.asked").read_text().splitlines()) == times


def test_without_slurm_nothing_is_known(answer, written):
    answer(sinfo=None, scontrol=None, sacctmgr=None)
    assert slurm.nodes() == []
    site = read_site(written("account: any\ngpu_model: any\npartitions: {any: {max_runtime: 1h}}"))
    assert [(each.partition, each.minutes) for each in site.nodes()] == [("any", 60)]
    assert read_site(written("account: any")).nodes() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("account: nobodys", "site.yaml: account: unknown name 'nobodys'; allowed: ml, ml2"),
        ("account: ml2\nqos: long", "qos: unknown name 'long'; allowed: normal"),
        ("account: ml\npartitions: {gpus: {}}", "partitions: .*did you mean 'gpu'"),
        ("account: ml\npartitions: {gpu: {max_runtime: long}}", "is not a time"),
        ("account: ml\ngpu_model: h100", "gpu_model: unknown name 'h100'; .*allowed: a100"),
        ("account: ml\ngpu_model: nvidia_a100-sxm4-80gb", "only letters, digits and ._ in it"),
    ],
)
def test_a_site_that_slurm_does_not_know_is_refused(answer, written, text, said):
    with pytest.raises(UserError, match=said):
        read_site(written(text))


def test_a_site_that_slurm_knows_is_taken(answer, written):
    site = read_site(written("account: ML\nqos: long\ngpu_model: a100\npartitions: {gpu: {}}"))
    assert site.cores == 16


@pytest.mark.parametrize("model", [None, "a100"])
def test_every_job_with_a_gpu_names_the_model_and_no_other_asks_for_one(answer, model):
    from snakemake_executor_plugin_slurm.utils import set_gres_string

    found = resources(Site(account="ml", gpu_model=model, partitions={"gpu": {"max_gpu": 4}}))
    for key, needs in found.needs.items():
        given = found.of(key)
        given = {name: each(None) if name == "gpu" else each for name, each in given.items()}
        of_model = f"{model}:" if model else ""
        right = f" --gpus={of_model}{needs.gpu}" if needs.gpu else ""
        assert set_gres_string(SimpleNamespace(resources=Given(given))) == right


class Given(dict):
    __getattr__ = dict.get


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_jobs_stay_within_the_limit_of_their_partition(answer, attempt):
    answer(sinfo=None)
    limits = {"cpu": {"max_runtime": "30m"}, "gpu": {"max_runtime": "2h", "max_gpu": 1}}
    found = resources(Site(account="ml", partitions=limits))
    assert asks(found, "train", attempt)[1] == 120
    assert asks(found, "embed", attempt)[1] == 30 * attempt
    # A job of several: of the partition with a GPU, which it may go to without one as well.
    assert (found.most_minutes(1, 16000), found.most_minutes(0, 8000)) == (120, 120)
    assert resources().most_minutes(4, 10**9) == float("inf")


def test_without_a_limit_time_and_memory_grow():
    found = resources()
    for attempt in (1, 2):
        assert asks(found, "train", attempt) == (attempt * 16000, attempt * 1440)
        assert asks(found, "measure", attempt) == (attempt * 8000, attempt * 15)
    assert asks(found, "measure", 3) == (2 * 8000, 3 * 15)
    assert list(found.shortened({"train": 1440, "measure": 15})) == []


@pytest.mark.parametrize(
    ("seconds", "minutes"), [(22, 30 + 3), (4500, 30 + 450), (10**5, 1440), (None, 1440), (0, 30)]
)
def test_a_job_asks_for_six_times_its_estimate_and_half_an_hour(answer, seconds, minutes):
    site = Site(account="ml", partitions={"long": {"max_gpu": 1}})
    estimates = {"train": lambda run: {"a": seconds}[run]}
    found = Resources(CONFIG / "resources.yaml", site, estimates)
    runtime = found.of("train")["runtime"]
    assert [runtime("a", attempt=attempt) for attempt in (1, 2)] == [minutes, 2 * minutes]
    assert found.of("embed")["runtime"]("a", attempt=1) == 30
    # On this machine nothing is asked for.
    assert Resources(CONFIG / "resources.yaml", None, estimates).minutes("train", "a") == 1440


def test_the_retry_is_cut_to_the_nodes_that_fit(answer):
    found = resources(Site(account="ml", partitions={"long": {"max_gpu": 1}, "gpu": {}}))
    # Only `long` has a GPU to give, by the limits of the site.
    assert asks(found, "train", 3)[0] == 30000
    assert asks(found, "train", 3)[1] == 3 * 1440
    # Nodes of the default partition, of which one kind has enough.
    assert asks(resources(Site(account="ml")), "pack", 2) == (16000, 120)


def test_a_qos_limits_the_time_of_its_jobs(answer):
    site = Site(account="ml", qos="long", partitions={"long": {"max_gpu": 1}})
    assert asks(resources(site), "train", 1)[1] == 240
    assert asks(resources(site.model_copy(update={"qos": "normal"})), "train", 1)[1] == 1440


def test_a_time_that_is_cut_is_said_with_the_file(answer):
    found = resources(Site(account="ml", partitions={"cpu": {}, "gpu": {"max_gpu": 1}}))
    assert list(found.shortened({"train": 1440, "embed": 30})) == []
    (line,) = resources(Site(account="ml")).shortened({"pack": 240, "measure": 15})
    assert (
        "resources.yaml: pack: runtime: 240 minutes are more than the 120 of partition cpu" in line
    )


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ({}, "train: 16000 MB and 1 GPUs are more than a node has .*cpu: 8000 MB, 0 GPUs"),
        ({"partitions": {"long": {"max_gpu": 1, "max_mem_mb": 9000}}}, "long: 9000 MB, 1 GPUs"),
        ({"gpu_model": "a100", "partitions": {"long": {"max_gpu": 1}}}, "1 GPUs a100 are more"),
    ],
)
def test_needs_that_no_node_has_end_the_call(answer, site, said):
    found = resources(Site(account="ml", **site))
    with pytest.raises(UserError, match=said):
        list(found.shortened({"train": 1440}))
    with pytest.raises(UserError, match=said):
        asks(found, "train", 1)


@pytest.fixture
def queued(tmp_path, answer):
    """Results of which one run waits in the queue, another one and a data set are made."""
    results = tmp_path / "results"
    folder = slurm.logs(results)
    folder.mkdir(parents=True)
    answer(
        squeue=f"11   PENDING   {folder}/group_run_embed_evaluate_train/a/seed0/%j.log  \n"
        f"12   RUNNING   {folder}/group_run_embed_evaluate/a/seed1-and-4-more/%j.log  \n"
        f"13   RUNNING   {folder}/rule_pack/cub-256/%j.log\n"
        "14   RUNNING   /another/folder/rule_pack/cub-256/%j.log\n"
    )
    return results


def test_status_lists_jobs_of_the_queue_once(queued):
    stages = [
        Stage(rule, what, f"{rule}/{what}")
        for what in ("a/seed0", "a/seed1", "a/seed2")
        for rule in ("train", "embed", "evaluate")
    ]
    (queued / "train/a").mkdir(parents=True)
    (queued / "train/a/seed1").touch()
    for stage in stages:
        # As Snakemake leaves those of jobs that were refused.
        (queued / stage.log).parent.mkdir(parents=True, exist_ok=True)
        (queued / stage.log).touch()
    begun = {
        state: [(stage.rule, stage.what, why) for stage, why in found]
        for state, found in Progress(queued, stages).begun.items()
    }
    assert begun == {
        "running": [("embed", "a/seed1", ": Slurm job 12")],
        "waiting": [("train", "a/seed0", ": Slurm job 11")],
        "stopped": [],
        "failed": [],
    }


def test_what_a_killed_call_left_is_canceled_if_it_waits_and_named_if_it_stays(queued, tmp_path):
    # Slurm does not cancel the first one, as if it were another user's.
    said = r"Slurm has 3 jobs of a call that was killed; .* scancel 11 12 13$"
    with pytest.raises(UserError, match=said):
        slurm.cancel_what_was_left(queued)
    (called,) = (tmp_path / "bin" / "scancel.asked").read_text().splitlines()
    assert called == "--state=PENDING 11 12 13"


@pytest.mark.parametrize(
    ("names", "jobs"), [("11 dmlbench_a\n12 dmlbench_b\n13 wrap\n", "11,12"), ("13 wrap\n", "0")]
)
def test_jobs_of_all_who_share_the_results_are_looked_up(queued, answer, tmp_path, names, jobs):
    asked = tmp_path / "bin" / "squeue.asked"
    queued.chmod(0o755)
    slurm.queue(queued)
    assert "--me" in asked.read_text()
    asked.unlink()
    queued.chmod(0o775)
    answer(**{"squeue %i %j": names})
    slurm.queue(queued)
    first, second = asked.read_text().splitlines()
    assert "--me" not in first + second
    assert f"--jobs={jobs} " in second


def test_the_profile_names_jobs_as_they_are_looked_up():
    profile = (REPOSITORY / "profiles" / "slurm" / "config.yaml").read_text()
    assert f"\nslurm-jobname-prefix: {slurm._NAMED}\n" in profile


def test_no_default_of_the_profile_looks_at_the_inputs_of_jobs():
    """Snakemake's own defaults for a cluster take a third of a dry run of all studies."""
    profile = (REPOSITORY / "profiles" / "slurm" / "config.yaml").read_text()
    sized = {name for name, value in Defaults.DEFAULTS["full"].items() if "input" in value}
    assert sized == {"mem", "disk"}
    for name in sized:
        assert f"\n  {name}_mb: 1000\n" in profile


def test_slurm_is_not_asked_where_no_call_has_used_it(answer, tmp_path):
    slurm.cancel_what_was_left(tmp_path / "results")
    assert not (tmp_path / "bin" / "squeue.asked").exists()
