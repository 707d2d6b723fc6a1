"""What trainings ran on, as their histories say it."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dmlbench.files import atomic_write
from dmlbench.machine import PROVENANCE

FILE = "ran_on.csv"
"""Of a published study, next to its scores; earlier ones have none."""

FACTS = ("device", "machine", "threads", "instructions", "software", "commit")


def ran_on(history: str | Path) -> dict[str, str]:
    """Device, machine, software and others of a training; empty if its history cannot be read."""
    # Here, because no other part of the plan needs pyarrow.
    from dmlbench.parquet import read_metadata

    try:
        found = json.loads(read_metadata(Path(history)).get(PROVENANCE, b"{}"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def counts(
    histories: Iterable[str | Path], facts: Sequence[str] = FACTS
) -> list[dict[str, str | int]]:
    """Each combination of facts with its number of `trainings`, the most frequent first."""
    known = filter(None, map(ran_on, histories))
    found = Counter(tuple(each.get(name, "") for name in facts) for each in known)
    return [
        {"trainings": number, **dict(zip(facts, values, strict=True))}
        for values, number in found.most_common()
    ]


def write(histories: Iterable[str | Path], output: Path) -> None:
    """Write `counts` as CSV; nothing if no history can be read."""
    if rows := counts(histories):
        with (
            atomic_write(output) as unfinished,
            unfinished.open("w", newline="", encoding="utf-8") as file,
        ):
            table = csv.DictWriter(file, ["trainings", *FACTS], lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


def lines(rows: Iterable[dict[str, str | int]]) -> Iterator[str]:
    """A line of words for each row of `counts` or of its file."""
    for row in rows:
        facts = (row["device"], row["machine"], row["instructions"], row["software"])
        commit = f"commit {row['commit']}" if row["commit"] else ""
        yield f"{row['trainings']} trainings: {'; '.join(filter(None, [*facts, commit]))}"


def read(file: Path) -> list[dict[str, str]]:
    """What `write` wrote; empty without the file."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))
