"""What a job's log says about its end."""

from pathlib import Path

from dmlbench.shared_files import printable, regular_status

_TAIL = 20_000
_TRACEBACK = "Traceback (most recent call last):"


def failure(log: Path) -> str | None:
    """The line that says why a job failed; None for a job that succeeded, was killed or still runs.

    Args:
        log: as `job.job` writes it: `error: ...` for bad input, a traceback for anything else.
    """
    try:
        size = regular_status(log).st_size
        with open(log, "rb") as file:
            file.seek(max(0, size - _TAIL))
            lines = file.read().decode(errors="replace").rstrip().splitlines()
    except OSError:
        return None
    if lines and lines[-1].startswith("error: "):
        return printable(lines[-1].removeprefix("error: "))
    if _TRACEBACK not in lines:
        return None
    last = len(lines) - 1 - lines[::-1].index(_TRACEBACK)
    said = next((line for line in lines[last + 1 :] if not line.startswith(" ")), "")
    return None if said.startswith("KeyboardInterrupt") else printable(said) or None
