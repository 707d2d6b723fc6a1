"""Removing a study, a data set or a network of the user again."""

import shutil
from pathlib import Path

from dmlbench.errors import UserError, unknown
from dmlbench.plan.load import configuration_of, reload
from dmlbench.plan.views.study_checks import check_studies


def forget(config: Path, own: Path, name: str) -> list[Path]:
    """Remove a folder of the user, `own/<name>`; results stay.

    Args:
        config: the configuration folder.
        own: where the user's folders are.

    Returns:
        The files that were removed.

    Raises:
        UserError: there is no such folder, or another study of the user needs it.
    """
    there = sorted(each.name for each in own.glob("*") if each.is_dir())
    if name not in there:
        raise unknown("study, data set or network of yours", name, there)
    kept, hidden = own / name, own.with_name(f".{own.name}-{name}")
    before = _broken(config, own)
    kept.rename(hidden)
    try:
        needing = sorted(_broken(config, own) - before)
    except BaseException:
        hidden.rename(kept)
        raise
    if needing:
        hidden.rename(kept)
        raise UserError(
            f"{needing[0]} needs what is in {kept}; first: dmlbench forget {needing[0]}"
        )
    files = sorted(file for file in hidden.rglob("*") if file.is_file())
    shutil.rmtree(hidden)
    return [kept / file.relative_to(hidden) for file in files]


def _broken(config: Path, own: Path) -> set[str]:
    """The studies of the user that cannot be used."""
    studies = sorted(file.stem for file in own.glob("*/studies/*.yaml"))
    if not studies:
        return set()
    plan = reload(configuration_of(own) | {"studies": studies}, config)
    check_studies(plan)
    return set(plan.broken)
