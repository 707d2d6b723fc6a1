"""Progress of studies, read from the files of Snakemake and its jobs."""

import re
from collections import Counter

import pytest
from dmlbench import plan
from dmlbench.plan.costs import costs, status_lines
from dmlbench.plan.costs.costs import Ahead
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.plan.costs.progress import Progress, of_study, of_view
from dmlbench.plan.graph.index import RunIndex
from dmlbench.presentation.tasks import tasks
from dmlbench.results_lock import claim, claimed_by
from project import CONFIG, every_study, load_studies


@pytest.fixture
def demo(tmp_path):
    """The plan of the demo, with its own results folder."""
    configuration = {"pathvars": {"results": str(tmp_path)}, "studies": ["demo"]}
    return plan.reload(configuration, CONFIG)


def made(results, stages):
    for stage in stages:
        file = results / stage.output
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def logged(results, stage, text):
    file = results / stage.log
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def progress(demo, tmp_path):
    return Progress(tmp_path, of_study(demo, "demo"))


def test_before_anything_has_run_all_of_it_is_missing(demo, tmp_path):
    found = progress(demo, tmp_path)
    assert found.missing == found.stages
    assert len(set(found.stages)) == len(found.stages)
    runs = demo.runs("demo")
    assert found.done("train") == found.done("evaluate") == (0, len(runs))
    assert list(found.ahead(demo).trainings) == runs
    assert next(status_lines.of_one(demo, "demo", gpu=False)).startswith("demo: not begun")


def test_a_finished_study_needs_no_images(demo, tmp_path):
    stages = progress(demo, tmp_path).stages
    images = ("draw", "index", "pack", "split")
    made(tmp_path, [stage for stage in stages if stage.rule not in images])
    assert progress(demo, tmp_path).missing == []
    assert list(status_lines.of_one(demo, "demo", gpu=False)) == [
        "demo: done, 22 of 22 runs scored"
    ]
    trained = next(stage for stage in stages if stage.rule == "train")
    (tmp_path / trained.output).unlink()
    missing = progress(demo, tmp_path).missing
    assert {stage.rule for stage in missing} == {"train", *images}


def test_a_view_needs_what_it_shows(demo, tmp_path):
    stages = of_view(demo, "demo", "embedding_maps.unseen_characters")
    runs = [stage.output.wildcards["run"] for stage in stages if stage.rule == "train"]
    assert [demo.known[run].method for run in runs] == ["untrained", "proxy_anchor"]
    assert stages[-1].output == "studies/demo/figures/map_unseen_characters.png"


def test_jobs_that_no_row_lists_are_counted():
    """Measures, and the embeddings of training images that they need."""
    loaded = load_studies("examples")
    rules = Counter(stage.rule for stage in of_study(loaded, "examples"))
    measured = len(loaded.runs("examples")) * len(loaded.studies["examples"].measures)
    assert rules["measure"] == rules["embed_train"] == measured > 0


def test_failed_and_killed_jobs_are_distinguished(demo, tmp_path):
    trainings = [stage for stage in progress(demo, tmp_path).stages if stage.rule == "train"]
    made(tmp_path, trainings[:1])
    traceback = "Traceback (most recent call last):\n  File x\nRuntimeError: CUDA out of memory\n"
    logged(tmp_path, trainings[0], traceback)
    logged(tmp_path, trainings[1], f"epoch 1\n{traceback}")
    logged(tmp_path, trainings[2], "epoch 1\n")
    log = tmp_path / trainings[1].log
    assert progress(demo, tmp_path).begun == {
        "running": [],
        "waiting": [],
        "stopped": [(trainings[2], ": interrupted or killed")],
        "failed": [(trainings[1], f": RuntimeError: CUDA out of memory ({log})")],
    }
    lines = "\n".join(status_lines.status(demo, gpu=False))
    assert "no call is at work" in lines
    assert "demo: unfinished, 0 of 22 runs scored, 1 failed" in lines
    assert f"{trainings[1].what}: RuntimeError: CUDA out of memory ({log})" in lines
    assert f"  stopped  train {trainings[2].what}: interrupted or killed" in lines
    assert "21 trainings" in lines


def test_what_the_call_at_work_has_begun_is_running(demo, tmp_path):
    trainings = [stage for stage in progress(demo, tmp_path).stages if stage.rule == "train"]
    assert claimed_by(tmp_path) is None
    claim(tmp_path)
    assert "snakemake (process " in claimed_by(tmp_path)
    logged(tmp_path, trainings[3], "epoch 1\n")
    assert progress(demo, tmp_path).begun["running"] == [(trainings[3], "")]
    lines = status_lines.status(demo, gpu=False)
    assert "is at work" in lines[0]
    assert f"  running  train {trainings[3].what}" in lines


def test_help_is_one_screen_and_begins_with_what_to_call():
    lines = status_lines.targets(every_study(), gpu=False)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("snakemake TARGET -nq ")
    text = " ".join(" ".join(lines).split())
    for study in every_study().studies:
        assert re.search(rf"\b{study}\b", text), study
    assert "0 of" not in text
    assert re.search(r"published, \d+: .*psomas2020_birds\b", text)


def test_what_has_begun_is_shown_with_its_state(demo, tmp_path):
    made(tmp_path, [next(s for s in of_study(demo, "demo") if s.rule == "train")])
    (line,) = (line for line in status_lines.targets(demo, gpu=False) if line.startswith("demo "))
    assert "0 of 22 runs; left: " in line


def test_the_status_of_one_study_lists_its_targets(demo):
    lines = status_lines.status(demo, gpu=False, only="demo")
    names = {line.split()[0] for line in lines if line}
    assert {"demo_tournament", "demo_table_recall", "demo_figure_unseen_characters"} < names
    (line,) = (line for line in lines if line.startswith("demo_figure_unseen_characters"))
    assert "0 of 2 runs; left: " in line


@pytest.mark.parametrize("gpu", [False, True])
def test_help_status_and_a_dry_run_say_the_same_time(demo, tmp_path, gpu):
    made(tmp_path, [next(s for s in of_study(demo, "demo") if s.rule == "train")])
    ahead = progress(demo, tmp_path).ahead(demo)
    time = costs.lines(demo, ahead, gpu=gpu)[-1].partition(": ")[2]
    assert "about " in time
    (of_help,) = (line for line in status_lines.targets(demo, gpu=gpu) if line.startswith("demo "))
    assert of_help.endswith(f"left: {time}")
    assert f": {time}" in "".join(status_lines.of_one(demo, "demo", gpu=gpu))
    # So do the lines of a call, which add up the jobs that it starts.
    runs = RunIndex(demo, tmp_path / "plan.json", fresh=True)
    jobs = {number: ("train", {"run": run.folder}) for number, run in enumerate(ahead.trainings)}
    of_call = tasks(Estimator(demo, tmp_path, gpu=gpu), runs.row, jobs)
    (of_trainings,) = costs.costs(Estimator(demo, tmp_path, gpu=gpu), Ahead(ahead.trainings))
    assert sum(task.seconds for task in of_call.values()) == pytest.approx(of_trainings.seconds)


@pytest.mark.slow
def test_every_study_has_its_stages():
    loaded = every_study()
    for study in loaded.studies:
        stages = of_study(loaded, study)
        assert len({stage.output for stage in stages}) == len(stages)


@pytest.mark.slow
def test_studies_that_have_not_begun_share_a_line(tmp_path):
    configuration = {"pathvars": {"results": str(tmp_path)}, "studies": ["demo", "omniglot"]}
    both = plan.load(configuration, CONFIG)
    images = [s for s in of_study(both, "omniglot") if s.rule in ("download", "index", "pack")]
    made(tmp_path, images)
    assert status_lines.status(both, gpu=False)[1:] == ["", "not begun, 2: demo, omniglot"]
    made(tmp_path, [next(s for s in of_study(both, "demo") if s.rule == "train")])
    lines = status_lines.status(both, gpu=False)
    assert lines[2].startswith("demo: unfinished, 0 of 22 runs scored")
    assert lines[-1] == "not begun, 1: omniglot"
    (first, *_) = status_lines.status(both, gpu=False, only="omniglot")[2:]
    assert first.startswith("omniglot: not begun, 0 of")
