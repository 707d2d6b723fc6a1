"""What backbones of other packages share: their errors in one line."""

import contextlib
from collections.abc import Iterator

from dmlbench.errors import UserError


@contextlib.contextmanager
def fitting(what: str, allowed: str = "the size that the network was made for") -> Iterator[None]:
    """Turn a package's error about an unfitting value into one line.

    Raises:
        UserError: says what does not fit, the package's reason and what is allowed.
    """
    try:
        yield
    except UserError:
        raise
    except (AssertionError, RuntimeError, TypeError, ValueError, LookupError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(f"{what}: {reason}; allowed: {allowed}") from None


def classifier_of(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Prefixes of a classifier's tensors from its name or names in the package."""
    listed = (names,) if isinstance(names, str) else names or ()
    return tuple(f"{name}." for name in listed)
