"""A signal to stop: the iteration ends, a checkpoint is written, and the process exits."""

import contextlib
import signal
from collections.abc import Iterator

from dmlbench.distributed import rank

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class Interrupted(BaseException):
    """A signal to stop has arrived."""


class Interruption:
    """In this context a signal to stop is recorded, and the code continues until it checks.

    Ctrl-C is SIGINT; schedulers send SIGTERM, and on request SIGUSR1, some time before they kill.
    Further signals change nothing, so that one during the writing of a checkpoint does no harm.
    Enter it in the main thread.
    """

    def __init__(self):
        self._came = self._at_once = False

    def __enter__(self) -> "Interruption":
        # Of several processes, the first alone stops: the others end with it.
        handler = self._note if rank() == 0 else signal.SIG_IGN
        # A shell that runs a call in the background has it ignore Ctrl-C. Snakemake ignores SIGUSR1
        # for itself alone (rules/common.smk), although its jobs inherit that.
        background = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        heard = [number for number in SIGNALS if number != signal.SIGINT or not background]
        self._previous = {number: signal.signal(number, handler) for number in heard}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise `Interrupted` if a signal has arrived."""
        if self._came:
            raise Interrupted

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """In this context the signal itself raises: for long work without side effects."""
        self.check()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame) -> None:
        first, self._came = not self._came, True
        if first and self._at_once:
            raise Interrupted
