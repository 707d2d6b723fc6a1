"""Faults of the disk that the results are on."""

import contextlib
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dmlbench.provenance import Record
from laboratory import Lab, Outcome, kill, wait_for_job


def full_disks(lab: Lab, number: int, chance: random.Random) -> Outcome | None:
    """The results' disk is full within a job; then there is room."""
    job = lab.job("full disk", number, chance)
    return _on_disk(lab, *job, lambda used: f"size={used + chance.randrange(1 << 13)}")


def read_only_disks(lab: Lab, number: int, chance: random.Random) -> Outcome | None:
    """The results' disk cannot be written to; then it can."""
    return _on_disk(lab, *lab.job("read-only disk", number, chance), lambda used: "ro")


def read_only_looks(lab: Lab, call: list[str]) -> Outcome | None:
    """A call that writes nothing, on results that cannot be written to."""
    with lab.broken() as broken, _disk(broken.results) as remount:
        if remount is None:
            return None
        remount("ro")
        said = broken.call(*call)
        if said.status or any("warning" in line for line in said.lines):
            return Outcome("silent", f"{' '.join(call)}: {said.text[-500:]}")
        return lab.judged(broken, [said], call[-1])


def _on_disk(
    lab: Lab, record: Record, folder: Path, broken_by: Callable[[int], str]
) -> Outcome | None:
    with lab.broken() as broken, _disk(broken.results) as remount:
        if remount is None:
            return None
        target = broken.remove(record, folder)
        used = sum(path.lstat().st_blocks * 512 for path in broken.results.rglob("*"))
        remount(broken_by(used))
        said = [broken.call("--", target)]
        remount("rw,size=1g")
        said.append(broken.call("--", target))
        return lab.judged(broken, said, record.rule)


def slow_disks(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Each write to the disk takes up to a second longer, and the job is killed in between."""
    record, folder = lab.job("slow disk", number, chance)
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        call = broken.start("--", target, slow="1")
        wait_for_job(call)
        time.sleep(chance.uniform(0, lab.seconds(record) + 1))
        kill(call, "job")
        call.wait()
        return lab.judged(broken, [broken.call("--", target, slow="0.5")], record.rule)


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[Callable[[str], None] | None]:
    """Put a folder on a disk of its own; gives what mounts it otherwise, None where not allowed."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        yield None
        return
    subprocess.run(["cp", "-a", f"{aside}/.", str(folder)], check=True)

    def remount(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)

    try:
        yield remount
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
