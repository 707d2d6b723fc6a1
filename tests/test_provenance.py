"""A changed file, and a file of other code, is noticed by its record."""

import json
import os
import random
import shlex
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench import provenance
from dmlbench.errors import DamagedError, MisplacedError
from dmlbench.machine import PROVENANCE
from dmlbench.parquet import read_table, write_table
from dmlbench.plan.costs.progress import Stage
from dmlbench.plan.records import stale
from dmlbench.plan.records.ran_on import ran_on
from dmlbench.plan.records.verify import examined
from recorded import RULE, as_earlier, recorded


@pytest.mark.parametrize("name", ["model.safetensors", "spec.yaml", "best.yaml", "arrays.npz"])
def test_every_flipped_bit_of_a_recorded_file_is_noticed(tmp_path, name):
    path = tmp_path / name
    good = random.Random(0).randbytes(300)
    path.write_bytes(good)
    recorded(path)
    assert provenance.check(path)
    for bit in range(0, 8 * len(good), 37):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(DamagedError, match=f"{name}: .* that {RULE} recorded"):
            provenance.check(path)


def test_no_flipped_bit_changes_what_is_read_from_a_copied_table(tmp_path):
    """Without its record: pages have checksums, and a footer is read or not."""
    path = tmp_path / "scores.parquet"
    write_table(pa.table({"value": np.random.default_rng(0).random(2000)}), path)
    good, values = path.read_bytes(), read_table(path)["value"].to_pylist()
    pages = good.rindex(b"PAR1", 0, -4) if good.count(b"PAR1") > 2 else len(good) - 1000
    for place in range(40, pages, 611):
        flipped = bytearray(good)
        flipped[place] ^= 4
        path.write_bytes(flipped)
        with pytest.raises(DamagedError, match=r"scores\.parquet: damaged"):
            assert read_table(path)["value"].to_pylist() == values


def test_a_file_without_a_record_is_used_as_it_is(tmp_path):
    path = tmp_path / "scores.parquet"
    path.write_text("of an earlier version")
    assert provenance.check(path) == ""


def test_the_line_of_a_killed_writer_hides_no_other(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a")
    recorded(path)
    with open(tmp_path / provenance.FILE, "a") as file:
        file.write('{"rule":"evalu')
    path.write_text("later")
    recorded(path)
    assert provenance.check(path)
    lines = (tmp_path / provenance.FILE).read_text().splitlines()
    assert [json.loads(line)["rule"] for line in (lines[0], lines[-1])] == [RULE, RULE]


def difference(path, inputs, *, code="now", metrics=("recall_at_1",)):
    """What the plan says about a job whose record is that of a file."""
    params = {"metrics": list(metrics), "source": code}
    results = str(path.parents[1])
    record = provenance.record_of(path)
    return stale.difference(record, inputs=map(str, inputs), params=params, results=results)


def test_the_plan_compares_code_parameters_and_inputs_by_content_alone(tmp_path):
    made_from, path = tmp_path / "runs" / "embeddings.parquet", tmp_path / "runs" / "scores.parquet"
    path.parent.mkdir()
    for file in (made_from, path):
        file.write_text(file.name)
    recorded(made_from, "embed")
    recorded(path, inputs=[made_from], results=tmp_path)
    for file in (made_from, path):
        os.utime(file, (0, 0))
    assert difference(path, [made_from]) is None
    assert difference(path, [made_from], code="edited") == ("code now", "code edited")
    assert difference(path, [made_from], metrics=["recall_at_1", "nmi"])[0].startswith("params")
    made_from.write_text("of other weights")
    recorded(made_from, "embed")
    assert difference(path, [made_from])[0].startswith("inputs")


def test_every_flipped_bit_of_a_record_is_noticed(two_files):
    path = two_files / provenance.FILE
    good = path.read_bytes()
    assert provenance.check(two_files / "scores.parquet")
    for bit in range(0, 8 * len(good), 7):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        provenance._parsed.cache_clear()
        with pytest.raises(DamagedError, match=provenance.FILE):
            provenance.check(two_files / "scores.parquet")


def test_what_is_said_about_a_damaged_record_ends_it(two_files):
    path = two_files / provenance.FILE
    path.write_bytes(path.read_bytes().replace(b"evaluate", b"evaluatf", 1))
    stage = Stage(RULE, "", "runs/a/scores.parquet")
    (line,) = examined([stage], str(two_files.parents[1]), {}).damaged
    assert line.startswith(f"{path}: damaged or incomplete (line 1 is not as it was written)")
    subprocess.run(shlex.split(line.partition("after: ")[2]), check=True)
    found = examined([stage], str(two_files.parents[1]), {})
    assert found.verdict == "complete, partly unproven"
    assert provenance.check(two_files / "embeddings.parquet")


def test_earlier_records_are_valid_and_prove_less(two_files):
    as_earlier(two_files)
    with open(two_files / provenance.FILE, "a") as file:
        file.write('{"rule":"evalu\n')
    assert provenance.check(two_files / "scores.parquet")
    stage = Stage(RULE, "", "runs/a/scores.parquet")
    found = examined([stage], str(two_files.parents[1]), {RULE: "now"})
    assert found.verdict == "complete, partly unproven"
    (two_files / "scores.parquet").write_text("another")
    assert examined([stage], str(two_files.parents[1]), {RULE: "now"}).damaged


def test_the_inputs_of_earlier_records_are_compared_as_they_were_recorded(tmp_path):
    index, path = tmp_path / "data/birds/images.parquet", tmp_path / "runs/scores.parquet"
    for file in (index, path):
        file.parent.mkdir(parents=True)
        file.write_text(file.name)
    recorded(index, "index")
    recorded(path, results=tmp_path)
    as_earlier(path.parent)
    assert difference(path, [index]) is None
    recorded(path, inputs=[index], results=tmp_path)
    assert difference(path, [index]) is None
    index.write_text("of other labels")
    recorded(index, "index")
    assert difference(path, [index])[0].startswith("inputs")


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "desktop.ini"])
def test_a_folder_of_pictures_that_was_looked_at_is_the_same(tmp_path, name):
    folder = tmp_path / "neighbors"
    folder.mkdir()
    (folder / "1.png").write_bytes(b"1")
    recorded(folder)
    (folder / name).write_bytes(b"small pictures")
    assert provenance.check(folder) == provenance.digest(folder)
    (folder / "1.png").write_bytes(b"2")
    with pytest.raises(DamagedError):
        provenance.check(folder)


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_folder_under_another_name_is_noticed(tmp_path, is_earlier):
    """With its records: all files are those that were written, elsewhere."""
    run = tmp_path / "results/runs/birds/convnet/d8/triplet/half/seed0-00000000aaaa"
    other = run.with_name("seed1-00000000bbbb")
    run.mkdir(parents=True)
    for name, rule in (("spec.yaml", "train"), ("embeddings.parquet", "embed")):
        (run / name).write_text(name)
        place = run.relative_to(tmp_path / "results").as_posix()
        made_of = [run / "spec.yaml"] if rule == "embed" else []
        recorded(run / name, rule, made_of, results=tmp_path / "results", place=place)
    if is_earlier:
        as_earlier(run)
    shutil.copytree(run, other)
    for name in ("spec.yaml", "embeddings.parquet"):
        assert provenance.check(run / name)
        with pytest.raises(MisplacedError, match=f"{other.name}.* belongs to .*{run.name}"):
            provenance.check(other / name)
    # Outside of results a folder's name promises nothing.
    elsewhere = tmp_path / "my-model"
    shutil.copytree(run, elsewhere)
    assert provenance.check(elsewhere / "spec.yaml")
    results = tmp_path / "moved" / "results"
    shutil.copytree(tmp_path / "results", results)
    assert provenance.check(results / run.relative_to(tmp_path / "results") / "spec.yaml")


@pytest.mark.parametrize("module", ["x" * 5_000, "../../../../../../etc/passwd", ""])
def test_a_module_of_a_stranger_is_one_that_is_not_there(module):
    record = provenance.Record(RULE, {"a": "0"}, {}, "", {module: "0"})
    assert stale.changed_modules(record) == [module]
    assert stale.code_of([module]) == {module: ""}


def test_a_history_of_a_stranger_says_nothing(tmp_path):
    for said in (b"\x83", b"[1]", b"{"):
        table = pa.table({"epoch": [1]}).replace_schema_metadata({PROVENANCE: said})
        pq.write_table(table, tmp_path / "history.parquet")
        assert ran_on(tmp_path / "history.parquet") == {}
