"""Each job compares its inputs with what was recorded, and where; each file, with its images."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from dmlbench import provenance
from dmlbench.errors import MisplacedError
from dmlbench.job import job
from dmlbench.parquet import read_table, write_table
from dmlbench.plan.costs.progress import Stage
from dmlbench.plan.records.verify import examined
from dmlbench.provenance import Record
from project import REPOSITORY
from snakemake.iocontainers import InputFiles

RUN, OTHER = (f"runs/birds/convnet/d8/triplet/half/seed{n}-0000000000{n}" for n in (0, 1))
INPUTS = {
    "embed": f"{OTHER}/model.safetensors",
    "evaluate": f"{OTHER}/embeddings.parquet",
    "measure": f"{OTHER}/embeddings.parquet",
    "aggregate": f"{OTHER}/scores.parquet",
    "search": "searches/margin-1/workers/0.yaml",
    "train": "searches/margin-1/best.yaml",
    "split": "data/birds-1/images.parquet",
}
"""Rule -> one of its inputs, which was made in a folder whose name ends in 0."""


def made(results: Path, name: str, rule: str, inputs: dict[str, str] | None = None) -> Path:
    """A file of a job, recorded."""
    path = results / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(name)
    place = path.parent.relative_to(results).as_posix()
    digests = {path.name: provenance.digest(path)}
    provenance.write(Record(rule, digests, inputs or {}, "", "", place), path.parent)
    return path


def copied(results: Path, name: str) -> Path:
    """The file of that name, in a folder that is a copy of another one."""
    first = name.replace(OTHER, RUN).replace("-1/", "-0/")
    made(results, first, "toy")
    other = Path(name).parts[: len(RUN.split("/")) if name.startswith("runs") else 2]
    source = Path(first).parts[: len(other)]
    shutil.copytree(results.joinpath(*source), results.joinpath(*other))
    return results / name


@pytest.mark.parametrize("rule", INPUTS)
def test_no_job_takes_a_file_that_was_made_under_another_name(tmp_path, capsys, rule):
    path = copied(tmp_path, INPUTS[rule])
    call = SimpleNamespace(
        rule=rule,
        log=[tmp_path / "log"],
        input=InputFiles(toclone=[str(path)], fromdict={"given": str(path)}),
        output=[str(tmp_path / "out")],
        wildcards={},
        config={"pathvars": {"results": tmp_path}},
    )
    with pytest.raises(SystemExit) as ended, job(call):
        pytest.fail("it runs")
    assert ended.value.code == 1
    line = capsys.readouterr().err.strip().splitlines()[0]
    assert line.startswith(f"dmlbench {rule}: {path}: belongs to ")
    assert not (tmp_path / "out").exists()


def test_every_script_is_such_a_job():
    scripts = sorted((REPOSITORY / "workflow" / "scripts").glob("*.py"))
    assert len(scripts) > 30
    assert [each.name for each in scripts if "with job(snakemake)" not in each.read_text()] == []


def test_what_a_job_reads_itself_is_compared_by_its_reader(tmp_path):
    """Pixels and features of many gigabytes, by the table that is next to them."""
    import pyarrow as pa

    path = copied(tmp_path, "data/birds-1/pixels-16-gray.parquet")
    for folder in ("birds-0", "birds-1"):
        write_table(pa.table({"row": [1]}), path.parents[1] / folder / path.name)
    first = path.parents[1] / "birds-0" / path.name
    digests = {path.name: provenance.digest(first)}
    provenance.write(Record("pack", digests, {}, "", "", "data/birds-0"), first.parent)
    shutil.copy(first.parent / provenance.FILE, path.parent)
    assert read_table(first).num_rows == 1
    with pytest.raises(MisplacedError, match="belongs to data/birds-0"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("data/birds-0/images.parquet", "index"),
        ("data/birds-0/splits/half.parquet", "split"),
        ("data/birds-0/pixels-16-gray.npy", "pack"),
        ("weights/resnet50.pth", "weights"),
    ],
)
def test_images_splits_and_weights_are_in_the_chain(tmp_path, name, rule):
    """Others with a valid record of their own: verify names what was made of those before."""
    path = made(tmp_path, name, rule)
    inputs = provenance.digests_of_inputs([str(path)], str(tmp_path))
    assert inputs == {name: provenance.digest(path)}
    made(tmp_path, f"{RUN}/model.safetensors", "train", inputs)
    stages = [Stage("train", RUN, f"{RUN}/model.safetensors")]
    assert examined(stages, str(tmp_path), {}).verdict == "complete"
    path.write_text("rotated")
    os.utime(path, (0, 0))
    digests = {path.name: provenance.digest(path)}
    provenance.write(Record(rule, digests, {}, "", "", str(Path(name).parent)), path.parent)
    (line,) = examined(stages, str(tmp_path), {}).stale
    assert line.endswith(f"model.safetensors: made from another {name}")
