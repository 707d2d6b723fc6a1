"""Errors a user can mend: one line that names what, where and what is allowed."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Bad input. The message is one line: what is wrong, where, and what is allowed."""


def unknown(what: str, name: str, allowed: Iterable[str]) -> UserError:
    """An error for a name that is not among the allowed ones, near matches first.

    >>> print(unknown("loss", "proxy_ancor", ["margin", "proxy_anchor"]))
    unknown loss 'proxy_ancor'; did you mean 'proxy_anchor'? allowed: margin, proxy_anchor
    """
    allowed = sorted(allowed)
    near = difflib.get_close_matches(name, allowed, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return UserError(f"unknown {what} {name!r}; {hint}allowed: {', '.join(allowed) or 'none'}")
