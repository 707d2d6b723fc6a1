"""A changed file, and a file of other code, is noticed by its record."""

import json
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

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
from dmlbench.provenance import Record

RULE = "evaluate"


def recorded(path, rule=RULE, inputs=(), code="now", results="", place=""):
    """Record a file as its job would."""
    found = provenance.digests_of_inputs([str(each) for each in inputs], str(results))
    digests = {path.name: provenance.digest(path)}
    params = provenance.digest_of_params({"metrics": ["recall_at_1"]})
    provenance.write(Record(rule, digests, found, params, code, place), path.parent)


def as_earlier(folder):
    """Rewrite a folder's records as earlier versions wrote them: without checksum and place."""
    lines = [json.loads(line) for line in (folder / provenance.FILE).read_text().splitlines()]
    for line in lines:
        del line["sha256"], line["place"]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / provenance.FILE).write_text(text)


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


def test_verify_names_what_is_damaged_stale_mixed_and_missing(tmp_path):
    runs = [tmp_path / f"runs/{number}/scores.parquet" for number in range(4)]
    for number, path in enumerate(runs[:3]):
        path.parent.mkdir(parents=True)
        path.write_text(str(number))
        recorded(path, code="now" if number else "before")
    runs[2].write_text("flipped")
    stages = [Stage(RULE, "", str(path.relative_to(tmp_path))) for path in runs]
    found = examined(stages, str(tmp_path), {RULE: "now"})
    assert found.missing == 1
    assert [str(runs[2]) in line and "--force" in line for line in found.damaged] == [True]
    assert [str(runs[0]) in line for line in found.stale] == [True]
    assert len(found.mixed) == 1
    assert found.verdict == "damaged, stale, mixed, incomplete (1 jobs are missing)"


def test_verify_reads_pages_and_further_files_of_a_run(tmp_path):
    model, measure = tmp_path / "runs/0/model.safetensors", tmp_path / "runs/0/measures/m.parquet"
    page = tmp_path / "studies/s/runs.html"
    for path, rule in ((model, "train"), (measure, "measure"), (page, "run_browser")):
        path.parent.mkdir(parents=True)
        path.write_text("good")
        recorded(path, rule)
    stages = [Stage("train", "0", str(model.relative_to(tmp_path)))]
    shown = [str(page), str(tmp_path / "studies/s/study.tex")]
    assert examined(stages, str(tmp_path), {}, shown).verdict == "complete"
    for path in (measure, page):
        path.write_text("bad")
    found = examined(stages, str(tmp_path), {}, shown)
    assert [line.partition(":")[0] for line in found.damaged] == [str(measure), str(page)]


@pytest.fixture
def two_files(tmp_path):
    """A folder of results with records of two jobs."""
    folder = tmp_path / "runs/a"
    folder.mkdir(parents=True)
    for name in ("scores.parquet", "embeddings.parquet"):
        (folder / name).write_text(name)
        recorded(folder / name, inputs=[folder / "spec.yaml"], results=tmp_path, place="runs/a")
    return folder


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


def test_a_thousand_copies_of_one_run_are_not_complete(tmp_path):
    runs = [tmp_path / f"runs/{number}" for number in range(100)]
    runs[0].mkdir(parents=True)
    (runs[0] / "scores.parquet").write_text("0.5")
    recorded(runs[0] / "scores.parquet", place="runs/0")
    for run in runs[1:]:
        shutil.copytree(runs[0], run)
    stages = [Stage(RULE, "", f"runs/{run.name}/scores.parquet") for run in runs]
    assert len(examined(stages, str(tmp_path), {RULE: "now"}).damaged) == len(runs) - 1


HOSTILE = {
    "a path": {"files": {"../../../../etc/passwd": "0"}},
    "a list of files": {"files": ["scores.parquet"]},
    "no inputs": {"inputs": None},
    "a number as code": {"code": 3},
    "terminal codes": {"rule": "\x1b[2Jtable"},
    "terminal codes in a file's name": {"files": {"\x1b[2Jx": "0"}},
    "terminal codes in a module's name": {"code": {"\x9b2Jx": "0"}},
    "a zero in an input's name": {"inputs": {"a\0b/c": "0"}},
    "a nested digest": {"files": {"scores.parquet": {"a": "b"}}},
    "a further key": {"more": 1},
}


@pytest.mark.parametrize("case", [*HOSTILE, "a deep line", "a deep line without end", "a list"])
def test_a_line_of_a_stranger_is_one_line_of_verify(two_files, case):
    values = {"rule": RULE, "files": {"x": "0"}, "inputs": {}, "params": "", "code": ""}
    deep = "[" * 100_000
    text = {"a deep line": deep + "]" * 100_000 + "}", "a deep line without end": deep}
    text["a list"] = '["a", "b"]}'
    line = text.get(case) or json.dumps(values | HOSTILE[case])
    with open(two_files / provenance.FILE, "a") as file:
        file.write(line + "\n")
    stages = [Stage(RULE, "", "runs/a/scores.parquet")]
    (said,) = examined(stages, str(two_files.parents[1]), {}).damaged
    assert said.isprintable()
    assert "line 3 is not as it was written" in said


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


def test_what_is_no_file_does_not_hang_verify(two_files):
    stages = [Stage(RULE, "", f"runs/a/{name}.parquet") for name in ("scores", "embeddings")]
    scores, embeddings = (two_files / Path(stage.output).name for stage in stages)
    scores.unlink()
    os.mkfifo(scores)
    embeddings.unlink()
    embeddings.symlink_to(embeddings.name)
    found = examined(stages, str(two_files.parents[1]), {})
    assert [line.partition(":")[0] for line in found.damaged] == [str(embeddings), str(scores)]
    for make in (os.mkfifo, os.mkdir):
        (two_files / provenance.FILE).unlink()
        make(two_files / provenance.FILE)
        (said,) = examined(stages, str(two_files.parents[1]), {}).damaged
        assert "rm -r" in said
        if make is os.mkfifo:
            (two_files / provenance.FILE).unlink()
            (two_files / provenance.FILE).write_text("")
