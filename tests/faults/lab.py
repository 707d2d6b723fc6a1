"""The standing fault lab: faults of every kind in a toy study, and what became of them.

    make test-faults                              # 30 of each kind, hours
    make test-faults FAULTS="--faults 3"          # minutes
    make test-faults FAULTS="--kinds kill edit"   # these kinds; the file's other rows stay

The same seed injects the same faults, at moments that depend on the machine. Writes
results/benchmarks/faults.json and prints the table of docs/faults.md. Exits with an error if a
fault was silent.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from fault_kinds import KINDS
from laboratory import Lab
from machine import machine, write_report
from project import REPOSITORY

OUTPUT = REPOSITORY / "results" / "benchmarks" / "faults.json"
WORDS = ("survived", "noticed", "silent")


def row(lab: Lab, kind: str, seed: int, faults: int) -> dict:
    """Inject faults of a kind, and count what became of them."""
    counts, notes = Counter(), []
    for number in range(faults):
        outcome = KINDS[kind](lab, number, random.Random(f"{seed} {kind} {number}"))
        if outcome is None:
            print(f"{kind}: not possible here, as it needs to mount a disk", flush=True)
            break
        print(f"{kind} {number}: {outcome.word}: {outcome.note}", flush=True)
        counts[outcome.word] += 1
        notes += [outcome.note] * (outcome.word == "silent")
    words = {word: counts[word] for word in WORDS}
    return {"kind": kind, "seed": seed, "injected": counts.total(), **words, "notes": notes}


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
    options = parser.parse_args()
    rows = {}
    if options.output.exists():
        rows = {row["kind"]: row for row in json.loads(options.output.read_text())["rows"]}
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        for kind in options.kinds:
            rows[kind] = row(lab, kind, options.seed, options.faults)
            rows[kind]["commit"] = machine(())["commit"]
            found = {
                "machine": machine(("snakemake", "torch", "numpy")),
                "rows": [rows[kind] for kind in KINDS if kind in rows],
            }
            write_report(options.output, found)
    print(table(found["rows"]))
    sys.exit(any(row["silent"] for row in found["rows"]))


if __name__ == "__main__":
    main()
