"""A signal to stop: the iteration ends, a checkpoint is written, and the process exits."""

import contextlib
import signal
from collections.abc import Iterator

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Interrupted(BaseException):
    """A signal to stop has come."""


class Interruption:
    """While this lasts, a signal to stop is noted, and what runs continues until it asks.

    Schedulers send SIGTERM, and on request SIGUSR1, some time before they kill. Any further signal
    changes nothing, so that one which comes while a checkpoint is written does no harm. To be
    entered in the main thread.
    """

    def __init__(self):
        self._came = self._at_once = False

    def __enter__(self) -> "Interruption":
        self._previous = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise `Interrupted` if a signal has come."""
        if self._came:
            raise Interrupted

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """While this lasts, the signal itself raises: for long work that changes nothing."""
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
