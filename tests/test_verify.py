"""What `verify` says of results, also of a stranger's."""

import json
import os
import shutil
from pathlib import Path

import pytest
from dmlbench import provenance
from dmlbench.plan.costs.progress import Stage
from dmlbench.plan.records.verify import examined
from recorded import RULE, recorded


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
