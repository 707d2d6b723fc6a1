"""Finished studies without work: files for everything that a study would make."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from dmlbench import plan, provenance
from dmlbench.machine import PROVENANCE
from dmlbench.parquet import write_table
from dmlbench.plan import paths
from dmlbench.plan.costs.progress import Stage, of_study
from dmlbench.plan.records import stale
from dmlbench.plan.specs import versions
from dmlbench.plan.views import pages
from dmlbench.record_lines import line_of

CONTENT = {".safetensors": 20_000, ".parquet": 15_000}
"""Bytes of a run's files, about as many as those of the toy network of the demo."""

_INPUTS = {
    "embed": ("spec", "model", "last"),
    "evaluate": ("embeddings",),
}


def pretend_done(folder: Path, study: plan.Plan) -> None:
    """Leave an empty file for everything that the study would make, in order."""
    glyphs = study.data("glyphs").folder
    data = [f"data/drawn/{glyphs}.zip", f"data/{glyphs}/images.parquet"]
    data += [f"data/{glyphs}/splits/half.parquet"]
    data += [f"data/{glyphs}/pixels-28-gray.{ending}" for ending in ("npy", "parquet")]
    names = ["spec.yaml", "model.safetensors", "last.safetensors", "history.parquet"]
    names += ["embeddings.parquet", "scores.parquet", "queries.parquet"]
    runs = [f"runs/{run.folder}/{name}" for run in study.runs() for name in names]
    views = [*pages.files(study, "scaling"), "results/report.html"]
    for file in [*(f"results/{file}" for file in data + runs), *views]:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def pretend_recorded(folder: Path, study: plan.Plan) -> int:
    """Fill the files of the study's jobs, and record where they come from; returns their bytes."""
    results = folder / "results"
    draw, written = np.random.default_rng(0), 0
    template = results / "history.parquet"
    ran_on = {"device": "cpu", "instructions": "avx2", "threads": "1", "software": "torch"}
    history = pa.table({"epoch": range(10), "loss": draw.random(10)})
    write_table(history.replace_schema_metadata({PROVENANCE: json.dumps(ran_on)}), template)
    history = template.read_bytes()
    template.unlink()
    trained = stale.code_of(versions.sources(study.runs()[0].spec))
    for stage in dict.fromkeys(of_study(study, "scaling")):
        made_in, digests = (results / stage.output).parent, {}
        made_in.mkdir(parents=True, exist_ok=True)
        for path in _files(results, stage):
            content = draw.bytes(CONTENT.get(path.suffix, 1_000))
            path.write_bytes(history if path.name == "history.parquet" else content)
            written += path.stat().st_size
            digests[path.name] = provenance.digest(path)
        inputs = _inputs(made_in, results, stage.rule)
        code = trained if stage.rule == "train" else {}
        place = made_in.relative_to(results).as_posix()
        record = provenance.Record(stage.rule, digests, inputs, "0" * 64, code, place)
        # Without waiting for the disk after each line, as `provenance.write` does.
        with open(made_in / provenance.FILE, "ab") as file:
            file.write(line_of(record))
    return written


def _files(results: Path, stage: Stage) -> list[Path]:
    """The outputs of a job: those of its rule in the folder and with the stem of its first one."""
    first = results / stage.output
    names = paths.outputs(stage.rule).values()
    if stage.rule in ("train", "evaluate", "aggregate"):
        return [first.with_name(Path(name).name) for name in names]
    return [first.with_suffix(Path(name).suffix) for name in names]


def _inputs(folder: Path, results: Path, rule: str) -> dict[str, str]:
    """The inputs of a job from its own folder, with their recorded digests."""
    known = provenance.in_folder(str(folder)).by_name
    names = [name for name in known if name.startswith(_INPUTS.get(rule, ()))]
    return {
        (folder / name).relative_to(results).as_posix(): known[name].files[name] for name in names
    }
