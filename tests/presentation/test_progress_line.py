"""Lines of progress: what they say, when, and how the time left follows from what has run."""

import errno
import io
import logging
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.presentation.progress_line import (
    Progress,
    ProgressHandler,
    Task,
    is_of_snakemake_alone,
    replace_lines,
)
from dmlbench.presentation.run_lines import learned, share
from dmlbench.presentation.tasks import tasks
from project import load_studies
from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.common import LogEvent


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def record(event, **values):
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, "Finished jobid: 59", None, None)
    vars(made).update(event=event, **values)
    return made


def training(title, seconds=None, **values):
    return Task("train", title, is_run=True, seconds=seconds, **values)


def test_time_left_is_that_of_the_jobs_ahead_by_as_many_as_run_at_once(clock):
    found = Progress({job: training("A") for job in range(8)} | {9: Task("table", "table")}, clock)
    assert found.seconds_left() is None  # no training has run, and none was estimated
    for pair in ((0, 1), (2, 3)):
        for job in pair:
            found.start(job)
        clock.seconds += 30
        for job in pair:
            found.end(job)
    for job in (4, 5):
        found.start(job)
    clock.seconds += 10
    # Two have 20 s to go, two 30 s, and the table is taken for 1 s; two run at once.
    assert found.seconds_left() == pytest.approx((2 * 20 + 2 * 30 + 1) / 2)


def test_before_any_has_run_the_estimate_counts(clock):
    found = Progress({0: training("A", 100), 1: training("B", 200)}, clock)
    assert found.counted() == "0 of 2 runs, 0 of 2 jobs, about 5 minutes left"


def test_where_runs_take_longer_than_estimated_so_do_those_of_other_kinds(clock):
    """As on a machine with other processes: the raw features took three times as long."""
    other = Task("train resnet18", "B", is_run=True, seconds=200)
    found = Progress({0: training("raw", 10), 1: other, 2: training("C", 10)}, clock)
    found.start(0)
    clock.seconds = 30
    assert found.seconds_left() == pytest.approx(3 * 200 + 3 * 10)
    found.end(0)
    assert found.seconds_left() == pytest.approx(3 * 200 + 30)
    quick = Progress({0: training("raw", 10), 1: other}, Clock())
    quick.start(0)
    quick.end(0)
    assert quick.seconds_left() == 200


def test_no_time_left_is_given_while_a_search_is_unknown(clock):
    search = Task("search resnet18", "search a", seconds=None)
    found = Progress({0: training("A", 100), 1: search}, clock)
    assert found.counted() == "0 of 1 run, 0 of 2 jobs"
    assert Progress({0: training("A", 100), 1: search._replace(seconds=500)}, clock).counted() == (
        "0 of 1 run, 0 of 2 jobs, about 10 minutes left"
    )


def test_a_line_names_the_loss_what_it_learned_and_how_far_the_call_is(clock):
    tasks = {
        1: training("ProxyAnchor, seed 1", learned=lambda: "loss 2.31, R@1 82.1 %"),
        2: training("Contrastive, seed 0", share=lambda: "45 %"),
        3: Task("table", "table"),
    }
    stream = io.StringIO()
    handler = ProgressHandler(Progress(tasks, clock), stream)
    handler.emit(record(LogEvent.JOB_STARTED, jobs=[1, 2, 3]))
    clock.seconds = 5
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=3))
    assert stream.getvalue() == ""
    clock.seconds = 60
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    assert stream.getvalue() == (
        "dmlbench: ProxyAnchor, seed 1: loss 2.31, R@1 82.1 % | 1 of 2 runs, 2 of 3 jobs, less "
        "than a minute left\n"
    )
    handler.look()
    assert stream.getvalue().count("\n") == 1
    clock.seconds = 120
    handler.look()
    assert "dmlbench: running: Contrastive, seed 0 (45 %) | 1 of 2 runs" in stream.getvalue()


def test_errors_of_jobs_are_still_snakemakes():
    assert is_of_snakemake_alone(record(LogEvent.JOB_ERROR))
    assert is_of_snakemake_alone(record(None))
    for event in (LogEvent.JOB_INFO, LogEvent.JOB_FINISHED, LogEvent.PROGRESS):
        assert not is_of_snakemake_alone(record(event))


def test_a_closed_terminal_stops_neither_progress_nor_errors():
    reading, writing = os.pipe()
    os.close(reading)
    logger = logging.Logger("of a call")
    with os.fdopen(writing, "w") as terminal:
        handler = ColorizingTextHandler(stream=terminal, formatter=logging.Formatter())
        handler.name = "DefaultStreamHandler"
        logger.addHandler(handler)
        replace_lines(logger, {59: training("Contrastive, seed 0")})
        ended = record(LogEvent.JOB_FINISHED, job_id=59)
        for said in (record(LogEvent.JOB_STARTED, jobs=[59]), ended, record(LogEvent.ERROR)):
            logger.handle(said)


def test_a_full_disk_stops_no_progress(clock):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    progress = Progress({1: training("a"), 2: training("b")}, now=clock)
    handler = ProgressHandler(progress, Full())
    for job in (1, 2):
        handler.handle(record(LogEvent.JOB_STARTED, jobs=[job]))
        handler.handle(record(LogEvent.JOB_FINISHED, job_id=job))
    assert progress.counted().startswith("2 of 2 runs")


def test_the_last_epoch_says_what_was_learned(tmp_path):
    folder = tmp_path / "runs" / "a"
    folder.mkdir(parents=True)
    rows = {"epoch": [1, 2], "learning_rate": [0.1, 0.1], "loss": [2.0, 0.3124]}
    pq.write_table(
        pa.table(rows | {"zero_losses": [0.0, 0.0], "recall_at_1": [0.5, 0.8417]}),
        folder / "history.parquet",
    )
    assert learned(tmp_path, "a") == "loss 0.312, R@1 84.2 %"
    assert learned(tmp_path, "b") == share(tmp_path, "a") == ""
    log = tmp_path / "logs" / "train" / "a.log"
    log.parent.mkdir(parents=True)
    log.write_text("training:  37%|###7 | 37/100\rtraining:  45%|####5| 45/100 [00:10<00:12]")
    assert share(tmp_path, "a") == "45 %"


def test_a_search_is_a_task_of_each_of_its_workers(tmp_path):
    loaded = load_studies("musgrave2020_birds")
    model = Estimator(loaded, tmp_path, gpu=False)
    one, other = (f"heads_cub200_160_{loss}_128_folds_half" for loss in ("fastap", "cosface"))
    workers = {3: one, 5: one, 7: other}
    jobs = {job: ("search_worker", {"search": f"{name}-0a"}) for job, name in workers.items()}
    found = tasks(model, loaded.known.get, jobs)
    whole = model.search(one).seconds
    assert [found[job].seconds for job in (3, 5)] == [whole / 2, whole / 2]
    assert found[7].title == f"search {other}"
    assert not any(task.is_run for task in found.values())
