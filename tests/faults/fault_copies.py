"""Faults of content that is whole but another: backups, copies, exchanged images, other workers."""

import contextlib
import os
import random
import shutil
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from dmlbench import provenance
from dmlbench.data.generate import generate
from dmlbench.parquet import write_table
from laboratory import TARGETS, Lab, Outcome, contents, jobs_of, wait_for_job
from safetensors.numpy import load_file, save_file

_METRIC = "workflow/scripts/dmlbench/evaluation/retrieval.py"
_EXCHANGED = {"index": "label", "split": "role"}
"""Rule -> the column that another file of the rule has in another order."""


def forgeries(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Labels, roles or weights are others, with a valid record; `verify` is asked."""
    rule = [*_EXCHANGED, "weights"][number % 3]
    record, folder = chance.choice(lab.jobs[rule])
    with lab.broken() as broken:
        (path,) = (broken.results / folder / name for name in record.files)
        if column := _EXCHANGED.get(rule):
            _exchange(path, column)
        else:
            save_file({name: 2 * each for name, each in load_file(path).items()}, path)
        provenance.write(record._replace(files={path.name: provenance.digest(path)}), path.parent)
        found = broken.call("--", "verify")
        if found.status == 0:
            return Outcome("silent", f"{rule}: verify says nothing")
        again = broken.call("--force", "--", str(path.relative_to(broken.folder)))
        return lab.judged(broken, [found, again, *broken.ended()], rule)


def _exchange(path: Path, column: str) -> None:
    table = pq.read_table(path, partitioning=None)
    place = table.column_names.index(column)
    write_table(table.set_column(place, column, table[column].take(_reversed(table))), path)


def _reversed(table: pa.Table) -> pa.Array:
    return pa.array(np.arange(len(table))[::-1])


def backups(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A metric was corrected; then a folder is put back from an older backup."""
    rule = ["evaluate", "aggregate", "table"][number % 3]
    _, folder = chance.choice(lab.jobs[rule])
    with lab.broken() as broken:
        code = broken.folder / _METRIC
        code.write_text(code.read_text().replace("ranks.first <= k", "ranks.first <= k + 1"))
        broken.call("--", *TARGETS)
        expected = contents(broken.results)
        shutil.rmtree(broken.results / folder)
        shutil.copytree(lab.finished.results / folder, broken.results / folder)
        if contents(broken.results) == expected:
            raise AssertionError("a corrected metric changes no number")
        return lab.judged(broken, broken.ended(), f"of {rule}", expected)


def images(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """An archive has other pictures after the index was made, and before pack."""
    record, folder = lab.jobs["download"][0]
    packs = [job for job in lab.jobs["pack"] if "toy" in job[1].as_posix()]
    with lab.broken() as broken:
        (path,) = (broken.results / folder / name for name in record.files)
        status = path.stat()
        generate("glyphs", path, characters=44, images_per_character=10, size=16, seed=2)
        if number % 2:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        target = broken.remove(*chance.choice(packs))
        note = f"date {'kept' if number % 2 else 'of now'}"
        return lab.judged(broken, broken.ended("--", target), note)


def workers(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Four workers of a search run at once, and one is killed; the call is repeated."""
    with lab.broken() as broken:
        for job in lab.jobs["search_worker"]:
            broken.remove(*job)
        target = broken.remove(*lab.jobs["search"][0])
        call = broken.start("--cores", "4", "--", target)
        wait_for_job(call)
        time.sleep(chance.uniform(0, 2 * lab.seconds(lab.jobs["search_worker"][0][0])))
        at_work = [job for job in jobs_of(call) if _is_worker(job)]
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            chance.choice(at_work).kill()
        call.wait()
        note = f"one of {len(at_work)} at work is killed"
        return lab.judged(broken, [broken.call("--", target)], note)


def _is_worker(job: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return job.cmdline()[-1].endswith("search_worker.py")
    return False
