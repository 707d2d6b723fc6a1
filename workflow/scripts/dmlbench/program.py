"""How a program that a user calls ends."""

import contextlib
import sys
from collections.abc import Iterator

from dmlbench.errors import UserError


@contextlib.contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End the program with one line and status 1 for an error that its user can mend.

    That is a UserError, or the system's about a file: a name that is too long, a folder that may
    not be read.
    """
    try:
        yield
    except UserError as error:
        sys.exit(f"dmlbench: {error}")
    except OSError as error:
        if error.filename is None:
            raise
        sys.exit(f"dmlbench: {error.filename}: {error.strerror}")
