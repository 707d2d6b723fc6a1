"""Errors for unknown targets."""

import difflib
import re
from collections.abc import Iterable

from dmlbench.errors import UserError
from dmlbench.plan.specs.plan import Plan

_SHOWN = 3


def unknown_target(plan: Plan, name: str, targets: Iterable[str]) -> UserError:
    """An error that names the closest targets and what to do.

    Args:
        name: neither a target nor a file.
        targets: all targets by name.
    """
    folder = plan.folder / "studies"
    for study in plan.broken:
        if name == study or name.startswith(f"{study}_"):
            return plan.problem_of(study)
    for study, file in plan.files.items():
        if study not in plan.studies and (name == study or name.startswith(f"{study}_")):
            return UserError(
                f"target {name!r}: {file} is not among `studies:` of "
                f"{plan.folder / 'config.yaml'}; add {study!r} there, or remove `studies:`, and "
                "every file of the folder is a study"
            )
    if name.startswith("-"):
        return UserError(f"option {name} comes after `--`; allowed: options before it")
    near = nearest(name, targets)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    study = (
        ""
        if any(name.startswith(f"{each}_") for each in plan.studies)
        else (f"a new study is a file {folder / name}.yaml; ")
    )
    return UserError(
        f"unknown target {name!r}; {hint}{study}`snakemake --cores 1 help` lists studies"
    )


def nearest(name: str, targets: Iterable[str]) -> list[str]:
    """The targets that a name may mean: equal except for zeros, parts of it, or typing errors."""
    targets = sorted(targets)
    alike = [target for target in targets if _plain(target) == _plain(name)]
    containing = [target for target in targets if _plain(name) in _plain(target)]
    return (alike or containing or difflib.get_close_matches(name, targets, n=_SHOWN))[:_SHOWN]


def _plain(name: str) -> str:
    """A name without case, dashes and leading zeros of numbers."""
    return re.sub(
        r"0*(\d+)", r"\1", name.lower().replace("-", "_").replace("figure_map_", "figure_")
    )
