"""What the programs that a user calls share: how they read a path, and how they end."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError


def path_of_user(text: str) -> Path:
    """A path as a user writes it; `~` is home, which not every shell replaces after FOLDER=."""
    # Unlike pathlib's, it keeps the ~ of a name that is no user's.
    return Path(os.path.expanduser(text))


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
