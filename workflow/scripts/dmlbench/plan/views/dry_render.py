"""Whether the views of a study can be made, found by making them before a row is trained.

What a kind of table or figure refuses is stated in its file alone: each view is made from made-up
scores of its rows.
"""

import contextlib
import json
from pathlib import Path
from typing import Any

from dmlbench.errors import located
from dmlbench.files import write_text
from dmlbench.part_files import file_of, queries
from dmlbench.plan.catalogs.naming import digest_of
from dmlbench.plan.sources import stage_digest
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.views import views
from dmlbench.shared_files import read_plain


class DryRender:
    """Makes views from made-up scores, each once for all calls.

    pandas and matplotlib are imported only for a view that is not in the file.

    Args:
        file: JSON, view -> digest of what it was made from; written if its folder exists.
    """

    def __init__(self, plan: Plan, file: Path):
        self._plan, self._file = plan, file
        self._made: dict[str, str] = {}
        # Without the file, or in someone else's folder, there is only more to compute.
        with contextlib.suppress(OSError, ValueError, TypeError):
            self._made = dict(json.loads(read_plain(file)))

    def check(self, study: str, kind: str, name: str | None = None) -> None:
        """Make a view; one of experiments, whose rows are not known yet, is not made.

        Args:
            kind, name: as `views.view` takes them, without embedding maps.

        Raises:
            UserError: what the kind refuses, in one line that names file and view.
        """
        if getattr(views.view(self._plan, study, kind, name), "experiments", None):
            return
        view, parts = f"{study} {kind} {name}", made_from(self._plan, study, kind, name)
        digest = _digest(kind, parts)
        if self._made.get(view) == digest:
            return
        from dmlbench.presentation import made_up

        place = "tournament"
        if kind != "tournament":
            place = f"{kind}s.{name}: {parts['facts']['kind']}"
        with located(f"{self._plan.file(study)}: {place} cannot show the rows of `where`"):
            made_up.render(kind, **parts)
        self._made[view] = digest
        with contextlib.suppress(OSError):
            if self._file.parent.is_dir():
                write_text(self._file, json.dumps(self._made, indent=0))


def made_from(plan: Plan, study: str, kind: str, name: str | None) -> dict[str, Any]:
    """What `made_up.render` makes a view from."""
    view, facts = views.view(plan, study, kind, name), views.facts(plan, study, kind, name)
    datasets = dict.fromkeys(row["dataset"] for row in facts["rows"])
    return {
        "facts": facts,
        "metrics": {dataset: plan.datasets[dataset].metrics for dataset in datasets},
        "measures": [
            plan.measures[measure].model_dump(include={"role", "metrics", "arrays"})
            for measure in views.measures_of(view)
        ],
        "printed": list(map(str, views.printed_files(plan, study, view))),
    }


def _digest(kind: str, parts: dict[str, Any]) -> str:
    """Digest of all that a view is made from, with its printed numbers and the code of its kind."""
    printed = [Path(file) for file in parts["printed"]]
    files = [*printed, *sorted({file.parent / "mapping.yaml" for file in printed})]
    code, query = ["dmlbench/presentation/made_up.py"], {}
    if kind != "tournament":
        package, name = f"presentation/{kind}s", parts["facts"]["kind"]
        code.append(str(file_of(package, name)))
        query = queries(package).get(name, {})
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    return digest_of([parts, texts, query, stage_digest(*code)], 16)
