"""What a script does when it is interrupted, or when its input is damaged."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench import files
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.job import job
from dmlbench.logs import failure
from dmlbench.parquet import read_metadata, read_table
from snakemake.iocontainers import InputFiles

SCRIPTS = Path(files.__file__).resolve().parents[1]


def snakemake(folder, *inputs, results=None):
    """The `snakemake` object of a rule's script."""
    return SimpleNamespace(
        rule="toy",
        log=[folder / "log"],
        input=InputFiles(toclone=[str(path) for path in inputs]),
        output=[],
        wildcards={"run": "a/b"},
        config={"pathvars": {"results": results or folder}},
    )


def parquet(path, size=1000):
    pq.write_table(pa.table({"a": range(size)}).replace_schema_metadata({"key": "value"}), path)
    return path


def truncated(path, share):
    written = path.read_bytes()
    path.write_bytes(written[: int(share * len(written))])
    return path


def test_sigterm_ends_a_job_as_ctrl_c_does(tmp_path):
    before = signal.getsignal(signal.SIGTERM)

    def interrupted():
        with job(snakemake(tmp_path)), atomic_write(tmp_path / "result") as unfinished:
            unfinished.write_text("half")
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as ended:
        interrupted()
    assert ended.value.code == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == [".jobs", "log"]
    assert "KeyboardInterrupt" in (tmp_path / "log").read_text()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_defect_is_in_the_log_and_named_in_the_terminal(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, job(snakemake(tmp_path)):
        1 / 0  # noqa: B018
    assert ended.value.code == 1
    assert "Traceback" in (tmp_path / "log").read_text()
    assert capsys.readouterr().err.strip().splitlines() == [
        "dmlbench toy: ZeroDivisionError: division by zero",
        "  run: a/b",
        f"  log: {tmp_path / 'log'}",
    ]
    assert failure(tmp_path / "log") == "ZeroDivisionError: division by zero"


def raises(error):
    raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("x.yaml: no"), "x.yaml: no"),
        (RuntimeError("first line\nsecond line"), "RuntimeError: first line"),
        (KeyboardInterrupt(), None),
    ],
)
def test_a_log_says_why_its_job_failed(tmp_path, error, said):
    def failing():
        print("working")
        try:
            raises(KeyError("caught"))
        except KeyError:
            raises(error)

    with pytest.raises(SystemExit), job(snakemake(tmp_path)):
        failing()
    assert failure(tmp_path / "log") == said


def test_a_log_of_a_job_that_ended_well_or_was_killed_names_no_failure(tmp_path):
    with job(snakemake(tmp_path)):
        print("error: none, and more")
        print("epoch 1")
    assert failure(tmp_path / "log") is None
    assert failure(tmp_path / "none") is None


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("read", [read_table, read_metadata])
def test_a_truncated_input_is_one_line_and_is_made_again(tmp_path, capsys, share, read):
    damaged = truncated(parquet(tmp_path / "in.parquet"), share)
    with pytest.raises(SystemExit) as ended, job(snakemake(tmp_path, str(damaged))):
        read(damaged)
    assert ended.value.code == 1
    line, run, log = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(f"dmlbench toy: {damaged}: damaged or incomplete (")
    assert (run, log) == ("  run: a/b", f"  log: {tmp_path / 'log'}")
    assert line.endswith("; it is removed: run again, and it is made again")
    assert not damaged.exists()


@pytest.mark.parametrize("rule", ["agreement_document", "claims_document"])
def test_what_reads_the_scores_there_are_leaves_a_damaged_one_and_says_how_to_make_it(
    tmp_path, capsys, rule
):
    damaged = truncated(parquet(tmp_path / "scores.parquet"), 0.5)
    call = snakemake(tmp_path, str(damaged))
    call.rule = rule
    with pytest.raises(SystemExit), job(call):
        read_table(damaged)
    assert damaged.exists()
    line = capsys.readouterr().err.strip().splitlines()[0]
    assert line.endswith(f"; to make it again: snakemake --cores all --force -- {damaged}")


def test_a_damaged_file_that_no_rule_has_made_stays(tmp_path, capsys):
    (tmp_path / "results").mkdir()
    damaged = truncated(parquet(tmp_path / "own.parquet"), 0.5)
    call = snakemake(tmp_path, str(damaged), results=tmp_path / "results")
    with pytest.raises(SystemExit), job(call):
        read_table(damaged)
    assert damaged.exists()
    assert "; delete it and run again\n" in capsys.readouterr().err


def test_a_damaged_file_that_is_no_input_stays(tmp_path):
    damaged = truncated(parquet(tmp_path / "other.parquet"), 0.5)
    with pytest.raises(SystemExit), job(snakemake(tmp_path)):
        read_table(damaged)
    assert damaged.exists()


def test_a_missing_file_is_not_called_damaged(tmp_path):
    with pytest.raises(SystemExit), job(snakemake(tmp_path)):
        read_table(tmp_path / "none.parquet")
    assert "FileNotFoundError" in failure(tmp_path / "log")


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    code = f"""
        import os, signal
        from dmlbench.files import atomic_write
        with atomic_write({str(tmp_path / "result")!r}) as unfinished:
            unfinished.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".result.")
    assert left.name.endswith(".unfinished")
    with atomic_write(tmp_path / "other") as unfinished:
        unfinished.write_text("another file's writer leaves it alone")
    assert left.exists()
    with atomic_write(tmp_path / "result") as unfinished:
        unfinished.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "result"]


def test_two_living_writers_leave_each_other_alone(tmp_path):
    with atomic_write(tmp_path / "file") as first:
        first.write_text("first")
        with atomic_write(tmp_path / "file") as second:
            second.write_text("second")
        assert (tmp_path / "file").read_text() == "second"
    assert (tmp_path / "file").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_file_and_its_name_reach_the_disk_in_this_order(tmp_path, monkeypatch):
    done = []
    replace = os.replace

    def noted_fsync(descriptor):
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    def noted_replace(source, target):
        done.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with atomic_write(tmp_path / "file") as unfinished:
        unfinished.write_text("whole")
    assert done == [str(unfinished), "replace", str(tmp_path)]


def test_a_file_system_without_locks_and_links_does(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    for name in ("link", "symlink"):
        monkeypatch.setattr(os, name, refuse)
    (tmp_path / ".file.12345678.unfinished").write_text("of a living or a dead process")
    with atomic_write(tmp_path / "file") as unfinished:
        unfinished.write_text("whole")
    assert (tmp_path / "file").read_text() == "whole"
    assert (tmp_path / ".file.12345678.unfinished").exists()
