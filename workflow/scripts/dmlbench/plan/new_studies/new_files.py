"""Files of a folder of the user's, all of which are written, or none."""

from collections.abc import Callable, Mapping
from pathlib import Path

from dmlbench.errors import UserError


def write_checked(texts: Mapping[Path, str], own: Path, check: Callable[[], object]) -> None:
    """Write files, and remove them if a check of the whole fails.

    Args:
        texts: file -> its text, all of them below `own`.
        own: where the user's folders are.
        check: raises a UserError if what was written cannot stay.

    Raises:
        UserError: a file is there already, or that of the check.
    """
    for path in texts:
        if path.exists():
            raise UserError(f"{path}: is there already; choose another name, or forget it first")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        check()
    except UserError:
        for path in texts:
            path.unlink(missing_ok=True)
            for folder in path.relative_to(own).parents[:-1]:
                if not any((own / folder).iterdir()):
                    (own / folder).rmdir()
        raise
