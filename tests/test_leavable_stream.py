"""A reader that leaves early breaks nothing of what writes to it."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "workflow" / "scripts"
PROGRAM = """
import sys
from dmlbench.job import print_on_terminal
for line in range(3):
    print_on_terminal(["x" * 100_000])
print("goes on", file=sys.stderr)
"""


def test_who_reads_a_part_gets_it_and_the_writer_ends_well():
    writer = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
    )
    assert writer.stdout.read(5) == b"x" * 5
    writer.stdout.close()
    said = writer.stderr.read()
    writer.stderr.close()
    assert (writer.wait(), said) == (0, b"goes on\n")
