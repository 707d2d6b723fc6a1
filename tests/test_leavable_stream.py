"""A reader that leaves early breaks nothing of what writes to it."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench.leavable_stream import LeavableStream

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


def test_a_full_disk_is_no_reader_that_left():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        LeavableStream(Full()).write("lost\n")
