"""A changed file, and a file of other code, is noticed by its record."""

import json
import os
import random

import numpy as np
import pyarrow as pa
import pytest
from dmlbench import provenance
from dmlbench.errors import DamagedError
from dmlbench.parquet import read_table, write_table
from dmlbench.plan import stale
from dmlbench.plan.progress import Stage
from dmlbench.plan.verify import examined
from dmlbench.provenance import Record

RULE = "evaluate"


def recorded(path, rule=RULE, inputs=(), code="now", results=""):
    """Record a file as its job would."""
    found = provenance.digests_of_inputs([str(each) for each in inputs], str(results))
    digests = {path.name: provenance.digest(path)}
    params = provenance.digest_of_params({"metrics": ["recall_at_1"]})
    provenance.write(Record(rule, digests, found, params, code), path.parent)


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
