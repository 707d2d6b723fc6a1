"""A results folder may be a stranger's: what a call reads of it neither waits nor raises."""

import json
import os
from pathlib import Path

import pytest
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.locks import try_acquire
from dmlbench.logs import failure
from dmlbench.parquet import read_metadata, read_table
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.load import load_unless_checked
from dmlbench.plan.records.ran_on import ran_on
from dmlbench.plan.views.dry_render import DryRender
from dmlbench.results_lock import claimed_by
from dmlbench.training.kept import put_back
from project import CONFIG

STUDY = {"pathvars": {"results": "results"}, "studies": ["demo"]}
PUT = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "a list": lambda path: path.write_text("[1]"),
    "other bytes": lambda path: path.write_bytes(b"\xff\x00\x1b[2J\n"),
}


@pytest.fixture(scope="module")
def demo():
    return plan.reload(STUDY, CONFIG)


def estimated(demo, file: Path) -> None:
    """Benchmarks of a rule's jobs."""
    costs = file.parent / "costs"
    costs.mkdir()
    file.rename(costs / "index.tsv")
    assert Estimator(demo, file.parent, gpu=False).job("index") is None


def refused(read):
    def call(demo, file):
        with pytest.raises(UserError, match=file.name) as error:
            read(file)
        assert str(error.value).isprintable()

    return call


def found_again(demo, file: Path) -> None:
    run = demo.runs("demo")[0]
    assert RunIndex(demo, file, fresh=False).find(run.folder) == run


READERS = {
    ".checked": lambda demo, file: load_unless_checked(STUDY, CONFIG, file),
    ".rendered": lambda demo, file: DryRender(demo, file),
    "plan.json": found_again,
    "index.tsv": estimated,
    "train.log": lambda demo, file: failure(file),
    "history.parquet": lambda demo, file: ran_on(file),
    "scores.parquet": refused(read_table),
    "embeddings.parquet": refused(read_metadata),
}


@pytest.mark.parametrize("put", PUT)
@pytest.mark.parametrize("name", READERS)
def test_what_is_read_of_a_results_folder_may_be_anything(demo, tmp_path, monkeypatch, name, put):
    for check in ("check_studies", "check_searches"):
        monkeypatch.setitem(load_unless_checked.__globals__, check, lambda _: None)
    PUT[put](tmp_path / name)
    READERS[name](demo, tmp_path / name)


@pytest.mark.parametrize("put", ["a pipe", "a folder", "other bytes"])
def test_a_spec_that_is_no_text_is_one_line(demo, tmp_path, put):
    PUT[put](tmp_path / "spec.yaml")
    refused(read_mapping)(demo, tmp_path / "spec.yaml")


@pytest.mark.parametrize("digests", [[1], None, {}, {"spec.yaml": ["a"]}])
def test_strange_digests_of_a_kept_training_restore_nothing(tmp_path, digests):
    (tmp_path / ".kept").mkdir()
    for name in ("spec.yaml", "digests.json"):
        (tmp_path / ".kept" / name).write_text(json.dumps(digests))
    assert not put_back([tmp_path / "spec.yaml"], {})


def test_terminal_codes_of_logs_and_claims_are_not_printed(tmp_path):
    log = tmp_path / "train.log"
    log.write_bytes(b"error: \x1b[2Jno images\xff")
    assert failure(log).startswith("\N{REPLACEMENT CHARACTER}[2Jno images")
    log.write_text("Traceback (most recent call last):\nValueError: \x9b2Jno images\n")
    assert failure(log).isprintable()
    descriptor = try_acquire(tmp_path / ".claimed")
    os.write(descriptor, b"\x1b]0;snakemake\xff")
    assert claimed_by(tmp_path).isprintable()
    os.close(descriptor)
