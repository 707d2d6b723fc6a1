"""The published runs of a study that its certificate trains again, and facts about them."""

import hashlib
import math
from typing import Any

from dmlbench.errors import UserError
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.published_runs import runs_of
from dmlbench.plan.specs.run import Run


def facts(plan: Plan, study: str) -> dict[str, Any]:
    """The rows and facts of `presentation.certificate.write_certificate`."""
    named = {plan.run(row).folder: row for row in plan.rows(study)}
    runs = [run.folder for run in drawn(plan, study)]
    return {
        "rows": [named[run].columns | {"run": run} for run in runs],
        "study": study,
        "title": plan.studies[study].title,
        "published": len(runs_of(plan, study)),
        "same": len(_same_runs(plan, study)),
        "drawn": len(runs),
        "searched": sum(plan.search_of(named[run]) is not None for run in runs),
    }


def drawn(plan: Plan, study: str) -> list[Run]:
    """A share of a published study's runs that train (`reproduced_share`), to train them again.

    Drawn by the digest of their names: chosen by nobody, and the same for everybody.

    Raises:
        UserError: none of the published runs would be trained now as it was then.
    """
    same = _same_runs(plan, study)
    if not same:
        raise UserError(
            f"{study}: none of its published runs would be trained now as it was then; allowed: a "
            "published study whose specs, data and code have not changed since"
        )
    same.sort(key=lambda run: hashlib.sha256(run.folder.encode()).digest())
    share = plan.configuration.reproduced_share
    return same[: max(math.ceil(share * len(same)), min(len(same), 3))]


def _same_runs(plan: Plan, study: str) -> list[Run]:
    """The runs of a published study that train, and would do so now as they did then."""
    published = runs_of(plan, study)
    return [run for run in plan.runs(study) if run.folder in published and run.spec.epochs]
