"""What is computed once for each plan, and kept as long as the plan."""

import functools
from collections.abc import Callable


def once(function: Callable) -> Callable:
    """A function or method of a plan and further arguments, computed once for each of them.

    `functools.cache` would keep every plan of a process alive.
    """

    @functools.wraps(function)
    def remembered(plan, *arguments):
        known = vars(plan).setdefault("_once", {}).setdefault(function, {})
        if arguments not in known:
            known[arguments] = function(plan, *arguments)
        return known[arguments]

    return remembered
