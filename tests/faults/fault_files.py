"""Faults of finished files, records and folders, as bad disks and other users leave them."""

import os
import random
import shutil
from pathlib import Path

from dmlbench import provenance
from dmlbench.provenance import Record
from fault_disks import read_only_looks
from laboratory import TARGETS, Lab, Outcome, Said, advised

_READ_BY = {
    **{"draw": "index", "download": "index", "index": "split", "split": "train", "pack": "train"},
    **{"weights": "features", "features": "train"},
}
"""Rules whose files no record names as inputs, because their folder's name does -> a reader."""


def flips(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A bit of a finished file flips, its date stays; the job that reads it runs."""
    record, folder = lab.job("bit flip", number, chance)
    with lab.broken() as broken:
        path = broken.results / folder / chance.choice(list(record.files))
        if path.is_dir():
            path = chance.choice([file for file in sorted(path.iterdir()) if file.is_file()])
        _flip(path, chance)
        name = path.relative_to(broken.results).as_posix()
        reader = _reader(lab, record, name)
        note = f"{record.rule}: {path.name}, read by {reader[0].rule if reader else 'verify'}"
        said = []
        if reader is None:
            found = broken.call("--", "verify")
            named = [line for line in found.text.splitlines() if advised(line)]
            if not named or f"results/{folder}" not in named[0]:
                return Outcome("silent", f"{note}: {found.text[-300:]}")
            said = [Said(1, f"dmlbench: {named[0]}"), broken.call(*advised(named[0]))]
        else:
            target = broken.remove(*reader)
            for _ in range(3):
                said.append(broken.call("--", target))
                if said[-1].status == 0:
                    break
                if said[-1].lines and advised(said[-1].lines[0]):
                    said.append(broken.call(*advised(said[-1].lines[0])))
        return lab.judged(broken, said, note)


def journals(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A search's journal is cut, flipped or in another order; its workers and its outcome run."""
    what = ["flipped", "truncated", "exchanged", "doubled"][number % 4]
    with lab.broken() as broken:
        (path,) = broken.results.glob("searches/*/state-*/journal.log")
        if what == "truncated":
            os.truncate(path, chance.randrange(path.stat().st_size))
        elif what == "flipped":
            _flip(path, chance)
        else:
            _disorder(path, what, chance)
        target = broken.remove(*lab.jobs["search"][0])
        said = [broken.call("--", target)]
        if said[-1].status and str(path.parent.relative_to(broken.folder)) in said[-1].text:
            for record, folder in lab.jobs["search_worker"]:
                broken.remove(record, folder)
            said.append(broken.call("--", target))
        return lab.judged(broken, said, what)


def records(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A bit of a folder's records flips; what `verify` and calls then say is done."""
    record, folder = lab.job("damaged record", number, chance)
    with lab.broken() as broken:
        _flip(broken.results / folder / provenance.FILE, chance)
        said = [*broken.ended("--", "verify"), *broken.ended()]
        return lab.judged(broken, said, f"records of {record.rule}")


def strange_records(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Where a folder's records should be is a pipe, a link to itself or other JSON."""
    _, folder = lab.job("strange record", number, chance)
    what = ["a pipe", "a link to itself", "a deep line", "a list"][number % 4]
    with lab.broken() as broken:
        path = broken.results / folder / provenance.FILE
        path.unlink()
        if what == "a pipe":
            os.mkfifo(path)
        elif what == "a link to itself":
            path.symlink_to(path.name)
        else:
            path.write_text("[]\n" if what == "a list" else "[" * 100_000 + "\n")
        said = [*broken.ended("--", "verify"), *broken.ended()]
        if any("Traceback" in each.text for each in said):
            return Outcome("silent", f"{what}: a traceback")
        return lab.judged(broken, said, f"{what}, of {folder}")


def misplaced(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A run's folder is a copy of another run's, or two are exchanged; what a line says is done."""
    one, other = (
        lab.finished.results / folder for _, folder in chance.sample(lab.jobs["train"], 2)
    )
    with lab.broken() as broken:
        here, there = (
            broken.results / each.relative_to(lab.finished.results) for each in (one, other)
        )
        shutil.rmtree(here)
        shutil.copytree(other, here)
        if number % 2:
            shutil.rmtree(there)
            shutil.copytree(one, there)
        note = f"{'exchanged' if number % 2 else 'copied'}: {here.parent.name}, {there.parent.name}"
        if broken.call("--", "verify").status == 0:
            return Outcome("silent", f"{note}: verify says nothing")
        return lab.judged(broken, broken.ended(), note)


def links(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Another user has put a link to a private file where a call or its job writes."""
    record, folder = lab.job("planted link", number, chance)
    name = [".claimed", ".jobs", f"{folder}/{provenance.FILE}"][number % 3]
    with lab.broken() as broken:
        private = broken.folder / "private"
        private.write_text("precious")
        private.chmod(0o600)
        target = broken.remove(record, folder)
        (broken.results / name).unlink(missing_ok=True)
        (broken.results / name).symlink_to(private)
        said = [broken.call("--", target)]
        if private.read_text() != "precious" or private.stat().st_mode & 0o777 != 0o600:
            return Outcome("silent", f"{name}: the private file has changed")
        if any(name in line for line in said[0].lines):
            (broken.results / name).unlink()
        return lab.judged(broken, [*said, *broken.ended()], name)


def looks(lab: Lab, number: int, chance: random.Random) -> Outcome | None:
    """What only looks is called on results that cannot be written to."""
    looking = [["--", each] for each in ("verify", "status", "claims")]
    calls = [looking[0], looking[1], ["--dry-run", "--", *TARGETS], looking[2]]
    return read_only_looks(lab, calls[number % len(calls)])


def _flip(path: Path, chance: random.Random) -> None:
    status, content = path.stat(), bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    # In place, as a bad disk does: a second name of the file has the same content.
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _disorder(path: Path, what: str, chance: random.Random) -> None:
    """Exchange two lines of a file, or double one."""
    lines = path.read_bytes().splitlines(keepends=True)
    place = chance.randrange(len(lines) - 1)
    here = lines[place : place + 2]
    lines[place : place + 2] = here[::-1] if what == "exchanged" else [here[0], *here]
    path.write_bytes(b"".join(lines))


def _reader(lab: Lab, record: Record, name: str) -> tuple[Record, Path] | None:
    """A job that reads a file; None if it is read by people."""
    if record.rule in _READ_BY:
        # Packed in color for the features of the frozen network.
        rule = "features" if "-rgb." in name else _READ_BY[record.rule]
        wanted = (job for job in lab.jobs[rule] if _of_data(job, name))
        is_frozen = record.rule == "features"
        return next((job for job in wanted if ("frozen" in job[1].parts) == is_frozen), None)
    of_all = (job for jobs in lab.jobs.values() for job in jobs)
    return next((job for job in of_all if name in job[0].inputs), None)


def _of_data(job: tuple[Record, Path], name: str) -> bool:
    """Whether a job reads a file of a data set, by the data set's name."""
    is_drawn = any("drawn" in part for part in Path(name).parts)
    if job[0].rule != "train":
        return ("drawn" in job[1].as_posix()) == is_drawn
    return job[1].as_posix().startswith("runs/drawn/") == is_drawn
