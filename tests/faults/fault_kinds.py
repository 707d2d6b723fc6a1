"""All kinds of faults: functions of a lab, the number of the fault and its chance."""

import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import yaml
from dmlbench import provenance
from fault_calls import forced, homes, libraries, limited, locales, narrow, servers
from fault_copies import backups, forgeries, images, workers
from fault_disks import full_disks, read_only_disks, slow_disks
from fault_files import flips, journals, links, looks, misplaced, records, strange_records
from fault_harmless import harmless
from lab_study import STUDY
from laboratory import (
    TARGETS,
    Broken,
    Lab,
    Outcome,
    contents,
    differences,
    kill,
    wait_for_job,
)
from toy_data import ToyData

DAY = 86_400
_KILLED_FIRST = ("download", "pack", "aggregate", "report")
"""Rules that no other test kills."""


def kills(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A job, its call or both are killed at a random moment of the job; the call is repeated."""
    record, folder = lab.job("kill", number, chance, _KILLED_FIRST)
    what = chance.choice(["job", "Snakemake", "call"])
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        call = broken.start("--", target)
        wait_for_job(call)
        time.sleep(chance.uniform(0, lab.seconds(record)))
        alive = kill(call, what)
        call.wait()
        if alive:
            broken.call("--", target)
            psutil.wait_procs(alive)
        said = broken.call("--", target)
        return lab.judged(broken, [said], f"{what} of {record.rule}")


def clones(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Another clone, with the same or with edited code, or after another search, continues."""
    with lab.broken(clone=True) as broken:
        if number % 4 == 0:
            if broken.plans_nothing():
                return Outcome("survived", "the same code")
            return Outcome("silent", "the same code: results are made again")
        if number % 4 == 1:
            changed_best(broken)
            note, named = "another outcome of the search", "took other values"
        else:
            module = chance.choice(sorted(lab.modules))
            note, named = module, "ran other code"
            with open(broken.folder / "workflow/scripts/dmlbench" / module, "a") as file:
                file.write("\nEDITED_BY_THE_LAB = True\n")
        said = broken.call("--dry-run", "--", *TARGETS)
        is_named = any(named in line for line in said.lines)
        if said.status == 0 and (is_named or "Nothing to be done" not in said.text):
            return Outcome("noticed", note)
        return Outcome("silent", f"{note}: {said.text[-300:]}")


def changed_best(broken: Broken) -> None:
    """Leave what another search would: other best values, with their record."""
    (best,) = broken.results.glob("searches/*/best.yaml")
    found = yaml.safe_load(best.read_text())
    found["values"] = dict.fromkeys(found["values"], 0.123)
    best.write_text(yaml.safe_dump(found))
    record = provenance.record_of(best)
    digests = record.files | {best.name: provenance.digest(best)}
    provenance.write(record._replace(files=digests), best.parent)


def edits(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A value of the study or of a catalog is another one; then views are made again by force."""
    values = list(_values(STUDY, ("studies/toy",)))
    for file in ("recipes", "networks", "datasets", "searches", "experiments"):
        path = lab.finished.folder / "config" / f"{file}.yaml"
        for name in {"toy", "drawn"} & (catalog := yaml.safe_load(path.read_text())).keys():
            values += _values(catalog[name], (file, name))
    random.Random(0).shuffle(values)
    place, other = values[number % len(values)]
    note = f"{'.'.join(map(str, place))}: {other!r}"
    with lab.broken(clone=True) as broken:
        path = broken.folder / "config" / f"{place[0]}.yaml"
        content = yaml.safe_load(path.read_text())
        inside = functools.reduce(lambda each, key: each[key], place[1:-1], content)
        inside[place[-1]] = other
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        said = broken.call("--", *TARGETS)
        if said.status:
            is_one_line = any(line.startswith("dmlbench") for line in said.lines)
            return Outcome("noticed" if is_one_line else "silent", f"{note}: {said.text[-300:]}")
        after = contents(broken.results)
        forced = broken.call("--forcerun", "aggregate", "tournament", "table", "--", *TARGETS)
        if forced.status or (differ := differences(contents(broken.results), after)):
            return Outcome("silent", f"{note}: {differ if not forced.status else forced.text}")
        is_same = not differences(lab.expected, after)
        return Outcome("survived" if is_same else "noticed", note)


def clocks(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A job runs with the clock a day ahead; then its files are dated a day too early."""
    record, folder = lab.job("clock", number, chance)
    with lab.broken() as broken:
        target = broken.remove(record, folder)
        said = [broken.call("--", target, clock=str(DAY))]
        for name in record.files:
            path = broken.results / folder / name
            os.utime(path, (path.stat().st_mtime - DAY,) * 2)
        said.append(broken.call("--", *TARGETS))
        outcome = lab.judged(broken, said, record.rule)
        if outcome.word == "survived" and not broken.plans_nothing():
            return Outcome("silent", f"{record.rule}: made again in every call")
        return outcome


def parts(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """A training is killed or stopped at two random iterations, and resumed."""
    folder = lab.folder / "parts"
    (index,) = lab.finished.results.glob("data/toy-*/images.parquet")
    (pixels,) = index.parent.glob("pixels-*-gray.npy")
    data = ToyData(
        index, index.parent / "splits/half.parquet", pixels, pixels.with_suffix(".parquet")
    )
    _trained(folder / "whole", data, None, 0)
    per_call = [(chance.randrange(1, 9), chance.choice([9, 15])) for _ in range(2)]
    interval = chance.choice([0.0, 60.0])
    for stop in (*per_call, None):
        _trained(folder / "parted", data, stop, interval)
    names = ("model.safetensors", "last.safetensors", "history.parquet", "spec.yaml")
    whole, parted = (
        {name: (folder / each / name).read_bytes() for name in names}
        for each in ("whole", "parted")
    )
    shutil.rmtree(folder)
    note = f"signals {per_call} after so many iterations, a checkpoint every {interval} s"
    return Outcome("survived" if whole == parted else "silent", note)


def _trained(folder: Path, data: ToyData, stop: tuple[int, int] | None, interval: float) -> None:
    """Train in a process that is not a fork of this one, whose threads a fork would not have."""
    files = [str(path) for path in data.as_arguments().values()]
    arguments = json.dumps([str(folder), files, stop, interval])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, Path(__file__).with_name("fault_training.py"), arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, -signal.SIGKILL if stop else 0):
        raise ChildProcessError(f"{folder.name} ended with {done.returncode}: {done.stderr}")


def _values(node: object, place: tuple) -> Iterator[tuple[tuple, object]]:
    """Place -> another value, for each value below a node."""
    if isinstance(node, dict | list):
        for key, inside in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _values(inside, (*place, key))
    elif isinstance(node, bool):
        yield place, not node
    elif isinstance(node, int | float):
        yield place, node + 1 if isinstance(node, int) else node * 1.5
    elif isinstance(node, str):
        yield place, f"{node}x"


KINDS = {
    "false alarm": harmless,
    "kill": kills,
    "bit flip": flips,
    "damaged journal": journals,
    "damaged record": records,
    "strange record": strange_records,
    "forged content": forgeries,
    "another run's folder": misplaced,
    "older backup": backups,
    "changed images": images,
    "planted link": links,
    "read-only results": looks,
    "clone": clones,
    "another library": libraries,
    "edit": edits,
    "forced rules": forced,
    "four workers": workers,
    "strange server": servers,
    "locale": locales,
    "no home": homes,
    "limited files": limited,
    "one core": narrow,
    "full disk": full_disks,
    "read-only disk": read_only_disks,
    "slow disk": slow_disks,
    "clock": clocks,
    "parted training": parts,
}
