"""Compare what every part computes with the record; `make record-training` writes the record.

The record keeps values together with the versions that a result of them depends on. Values that
differ under the same versions would leave finished results that the same options no longer give.
What is iterated can differ by more than rounding where another CPU's kernels sum in another order:
`golden_record.py another-cpu` adds such values, at a commit that passes on the first one.
"""

import functools
import json
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_parts
import golden_trainings
import optuna
import torch
from dmlbench import registry
from dmlbench.data.version import VERSION as DATA
from dmlbench.plan.specs.versions import part_name
from dmlbench.search.version import VERSION as SEARCH
from dmlbench.training.version import VERSION as TRAINING
from golden_parts import Numbers

RECORD = Path(__file__).parent / "values.json"
RELATIVE, OF_THE_LARGEST = 1e-3, 1e-4
"""Differences that another CPU may make: of a number, and of the largest one next to it."""

Computation = Callable[[], dict[str, Numbers]]

_CORE = {"data": DATA, "search": SEARCH, "training": TRAINING}
# Which code besides the part's own a result of it depends on, by the first words of its package.
_WITH = {
    "data/generators": "data",
    "data/layouts": "data",
    "experiments": None,
    "search": "search",
}
"""Other packages depend on the version of training."""


@functools.cache
def entries() -> dict[str, tuple[dict[str, int], Computation]]:
    """{"losses/margin": ({"losses/margin": 1, "training": 1}, what computes its values), ...}"""
    found: dict[str, tuple[dict[str, int], Computation]] = {}
    for package in golden_parts.PACKAGES:
        kind = next((kind for kind in _WITH if package.startswith(kind)), "")
        core = _WITH.get(kind, "training")
        for name in registry.available(package):
            # The lock has no version of an optional package, so its numbers may change with it.
            if registry.constant(package, name, "REQUIRES"):
                continue
            # It computes nothing, and is never built.
            if (package, name) == ("networks/backbones", "given"):
                continue
            entry = part_name(package, name)
            versions = {entry: registry.version(package, name)}
            versions |= {core: _CORE[core]} if core else {}
            computation = functools.partial(golden_parts.computed, package, name)
            found[entry] = (versions, computation)
    for key, values, versions in golden_trainings.training_versions():
        found[f"training: {key}"] = (versions, functools.partial(_training, values))
    found["data"] = ({"data": DATA, "layouts/class_folders": 1}, golden_trainings.data)
    found["search"] = (
        golden_trainings.search_versions(),
        lambda: golden_trainings.search(_data("rgb")),
    )
    return found


def computed(entry: str) -> dict[str, Any]:
    """An entry as the record keeps it: its versions and its values, floats with five digits."""
    versions, computation = entries()[entry]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with torch.random.fork_rng():
        values = computation()
    return json.loads(json.dumps({"versions": versions, "values": _rounded(values)}))


def complaint(entry: str, recorded: dict[str, Any] | None, now: dict[str, Any]) -> str | None:
    """What to do about an entry that is not as recorded; None if there is nothing to do."""
    if recorded is None:
        return f"{entry} is not recorded: make record-training"
    if recorded["versions"] != now["versions"]:
        raised = sorted(dict(recorded["versions"].items() ^ now["versions"].items()))
        return (
            f"{entry}: {', '.join(raised)} has another VERSION than recorded: make record-training"
        )
    before, after = recorded["values"], now["values"]
    if changed := _changed(recorded, after):
        return (
            f"{entry}: values changed ({'; '.join(changed[:3])}): raise VERSION in "
            f"{' or '.join(map(file_of, now['versions']))}; then: make record-training"
        )
    if before.keys() != after.keys():
        return f"{entry}: other options than recorded: make record-training"
    return None


def _changed(recorded: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The values that are those of no CPU of the record."""
    of_cpus = (recorded["values"], recorded.get("another_cpu", {}))
    return sorted(
        key
        for key in recorded["values"].keys() & now.keys()
        if not any(alike(values[key], now[key]) for values in of_cpus if key in values)
    )


def alike(recorded: Any, now: Any) -> bool:
    """Whether values are equal but for the rounding of another CPU."""
    if not isinstance(recorded, list) or not isinstance(now, list):
        return _close(recorded, now, 0.0)
    finite = (each for each in recorded if isinstance(each, float) and math.isfinite(each))
    nearly = OF_THE_LARGEST * max(map(abs, finite), default=0.0)
    return len(recorded) == len(now) and all(
        alike(one, other) if isinstance(one, list) else _close(one, other, nearly)
        for one, other in zip(recorded, now, strict=True)
    )


def file_of(entry: str) -> str:
    """The file that has an entry's VERSION."""
    if entry in _CORE:
        return f"dmlbench/{entry}/version.py"
    name = entry.rpartition("/")[2]
    (package,) = (each for each in golden_parts.PACKAGES if part_name(each, name) == entry)
    return f"dmlbench/{package}/{name}.py"


def _close(recorded: Any, now: Any, nearly: float) -> bool:
    if type(recorded) is not type(now):
        return False
    if not isinstance(recorded, float):
        return recorded == now
    if math.isnan(recorded):
        return math.isnan(now)
    return math.isclose(recorded, now, rel_tol=RELATIVE, abs_tol=nearly)


def _rounded(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _rounded(each) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_rounded(each) for each in values]
    return float(f"{values:.5g}") if isinstance(values, float) else values


def _training(values: dict) -> dict[str, Numbers]:
    return golden_trainings.training(values, _data(values["network"]["mode"]))


@functools.cache
def _data(mode: str) -> golden_trainings.ToyData:
    folder = tempfile.TemporaryDirectory()
    _FOLDERS.append(folder)
    return golden_trainings.toy_data(Path(folder.name), mode)


_FOLDERS: list[tempfile.TemporaryDirectory] = []
"""Removed when the process ends."""


def main() -> None:
    """Record all values; those that changed without another version are refused."""
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    now, refused = {}, []
    for entry in entries():
        found = computed(entry)
        line = complaint(entry, recorded.get(entry), found) or ""
        if "values changed" in line:
            refused.append(line)
        kept = not line or "values changed" in line
        now[entry] = recorded[entry] if kept else found
    _write(now)
    sys.exit("\n".join(refused) or None)


def add_another_cpu() -> None:
    """Add what this CPU computes otherwise than the record says."""
    recorded = json.loads(RECORD.read_text())
    for entry in entries():
        found = computed(entry)["values"]
        if changed := _changed(recorded[entry], found):
            there = recorded[entry].setdefault("another_cpu", {})
            there |= {key: found[key] for key in changed}
    _write(recorded)


def _write(record: dict[str, Any]) -> None:
    lines = [f"{json.dumps(entry)}:{_line(record[entry])}" for entry in sorted(record)]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    add_another_cpu() if sys.argv[1:] == ["another-cpu"] else main()
