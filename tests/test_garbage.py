"""A process that leaves its garbage: nothing else is lost."""

import gc
import subprocess
import sys

import pytest
from dmlbench.garbage import without_collections
from project import REPOSITORY

LIBRARY = REPOSITORY / "workflow" / "scripts"
LEAVE = "from dmlbench.garbage import leave_garbage_at_exit\nleave_garbage_at_exit()\n"
CYCLE = """
import atexit, weakref
class Cycle:
    def __init__(self): self.itself = self
    def __del__(self): print("collected")
cycle = Cycle()
weakref.finalize(cycle, print, "finalized")
atexit.register(print, "exited")
"""


def run(code: str) -> list[str]:
    """What a Python prints until its end, line by line."""
    start = f"import sys; sys.path.insert(0, {str(LIBRARY)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code], check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("when", ["before", "after"])
def test_only_the_last_collection_is_left_out(when):
    assert sorted(run(CYCLE)) == ["collected", "exited", "finalized"]
    assert sorted(run(LEAVE + CYCLE if when == "before" else CYCLE + LEAVE)) == [
        "exited",
        "finalized",
    ]


def test_compiled_networks_are_collected():
    assert "collected" in run(f"sys.modules['triton'] = sys\n{LEAVE}{CYCLE}")


def test_collections_continue_until_the_end():
    assert run(f"import gc\n{LEAVE}{CYCLE}\ndel cycle\ngc.collect()\nprint(gc.isenabled())") == [
        "finalized",
        "collected",
        "True",
        "exited",
    ]


def test_seldom_is_not_never():
    call = "from dmlbench.garbage import collect_seldom\ncollect_seldom()\n"
    many = "for _ in range(400_000):\n    each = []\n    each.append(each)\n"
    assert run(f"{call}{CYCLE}\ndel cycle\n{many}print('made')")[:2] == ["finalized", "collected"]


def test_collections_come_back_after_an_import_that_failed():
    def load() -> None:
        with without_collections():
            assert not gc.isenabled()
            raise ImportError

    with pytest.raises(ImportError):
        load()
    assert gc.isenabled()
