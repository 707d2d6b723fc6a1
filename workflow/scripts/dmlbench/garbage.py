"""When Python collects garbage: neither while a process starts nor when it ends, or seldom."""

import atexit
import contextlib
import gc
import sys
from collections.abc import Iterator


def leave_garbage_at_exit() -> None:
    """Let this process end without a final collection.

    It would visit every object right before the operating system reclaims all memory. Reference
    counting still works, but an object in a cycle no longer gets its `__del__` at exit.

    Measured: a process that imports `training.loop` takes 3.0 s of CPU time instead of 3.7 s
    (medians of 5 runs each, in turn).
    """
    atexit.register(_leave_garbage)


def _leave_garbage() -> None:
    # Triton's compiler prints a page about each object that it misses at exit.
    if "triton" not in sys.modules:
        gc.freeze()


def collect_seldom() -> None:
    """Let Python look for garbage when 100,000 objects are new, instead of 700.

    A plan consists of millions of objects that all stay: looking through them takes more time than
    there is to gain.
    """
    gc.set_threshold(100_000, 50, 50)


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Collect no garbage while the block runs: for imports, whose many objects all stay.

    Measured: importing `training.loop` takes 2.6 s of CPU time instead of 2.9 s (as above).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
