"""Output whose reader may leave: a closed terminal, or `head` that has enough."""

import errno
import os
from collections.abc import Callable
from typing import TextIO

_LEFT = (errno.EPIPE, errno.EIO)
"""Errors of a pipe and of a terminal that were closed."""


class LeavableStream:
    """A stream that loses what is written once nobody reads it, instead of failing.

    From then on all that the process writes to its file is lost.

    Args:
        stream: to write to, with a file descriptor.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> None:
        """Write, as far as somebody reads."""
        self._unless_left(lambda: self._stream.write(text))

    def flush(self) -> None:
        """Write what is held back, as far as somebody reads."""
        self._unless_left(self._stream.flush)

    def _unless_left(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            if error.errno not in _LEFT:
                raise
            # Python writes what is left once more at its end, which must not fail either.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
