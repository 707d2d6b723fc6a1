"""The standing fault lab: faults of every kind in a toy study, and what became of them.

    make test-faults                              # 30 of each kind, hours
    make test-faults FAULTS="--minutes 30"        # as many as that allows, of each kind in turn
    make test-faults FAULTS="--kinds kill edit"   # these kinds; the file's other rows stay

The same seed injects the same faults, at moments that depend on the machine. Writes
results/benchmarks/faults.json and prints the table of docs/faults.md. Exits with an error if a
fault was silent.
"""

import argparse
import copy
import itertools
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fault_kinds import KINDS
from laboratory import Lab
from machine import machine, write_report
from project import REPOSITORY

OUTPUT = REPOSITORY / "results" / "benchmarks" / "faults.json"
WORDS = ("survived", "noticed", "silent")


def inject(lab: Lab, kinds: list[str], faults: int, seed: int, end: float) -> Iterator[list[dict]]:
    """Inject faults of each kind in turn; gives the rows of the table after each fault.

    Args:
        faults: of each kind.
        end: monotonic time after which no fault is injected.
    """
    start = {"seed": seed, "injected": 0, **dict.fromkeys(WORDS, 0), "notes": []}
    rows = {kind: {"kind": kind, **copy.deepcopy(start)} for kind in kinds}
    for number, kind in itertools.product(range(faults), kinds):
        if time.monotonic() > end:
            return
        outcome = KINDS[kind](lab, number, random.Random(f"{seed} {kind} {number}"))
        if outcome is None:
            print(f"{kind}: not possible here, as it needs to mount a disk", flush=True)
            continue
        print(f"{kind} {number}: {outcome.word}: {outcome.note}", flush=True)
        rows[kind]["injected"] += 1
        rows[kind][outcome.word] += 1
        rows[kind]["notes"] += [outcome.note] * (outcome.word == "silent")
        yield list(rows.values())


def table(rows: list[dict]) -> str:
    """The rows as docs/faults.md shows them."""
    heads = ("kind", "injected", *WORDS)
    cells = [heads, ["---"] * len(heads), *([str(row[head]) for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(each)} |" for each in cells)


def main() -> None:
    """Inject, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=30, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--minutes", type=float, default=math.inf, help="then no further fault")
    options = parser.parse_args()
    here = machine(("snakemake", "torch", "numpy"))
    found = {"machine": here, "rows": []}
    rows = {}
    if options.output.exists():
        rows = {row["kind"]: row for row in json.loads(options.output.read_text())["rows"]}
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        for new in inject(lab, options.kinds, options.faults, options.seed, end):
            own = {"commit": here["commit"]}
            rows |= {row["kind"]: row | own for row in new if row["injected"]}
            found["rows"] = [rows[kind] for kind in KINDS if kind in rows]
            write_report(options.output, found)
    print(table(found["rows"]))
    sys.exit(any(row["silent"] for row in found["rows"]))


if __name__ == "__main__":
    main()
