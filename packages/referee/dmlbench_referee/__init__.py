"""`dmlbench referee` as a command of its own, with the part of the library that it needs."""

import sys
from pathlib import Path


def main() -> None:
    """Judge a table of scores: `dmlbench-referee results.csv`."""
    sys.path.insert(0, str(Path(__file__).parent / "library"))
    from dmlbench.command import main as dmlbench

    dmlbench(["referee", *sys.argv[1:]])
