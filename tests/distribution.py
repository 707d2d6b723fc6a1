"""Which tests run in one process of several."""

import functools
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

REPOSITORY = Path(__file__).resolve().parents[1]


@functools.cache
def scope_of(file: str) -> str:
    """The file, or what it shares: a process takes seconds to load the plan of all studies."""
    path = REPOSITORY / file
    for each in (path, path.with_name("conftest.py")):
        if each.exists() and "every_study" in each.read_text():
            return "the plan of all studies"
    return file


class OnePlan(LoadFileScheduling):
    """A file's tests run together, and so do all files that load the plan of all studies."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(super()._split_scope(nodeid))
