"""A row for each run's folder, written once for all jobs of a call.

A cluster's job plans again, for one run. Without the index it would resolve every row of every
study to find that of its folder.
"""

import difflib
import json
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.files import write_text
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.run import Run
from dmlbench.shared_files import read_plain


class RunIndex:
    """Runs by folder.

    Args:
        file: where the main process of a call writes the index and its jobs read it.
        fresh: whether to use the plan instead of the file: in the main process.
    """

    def __init__(self, plan: Plan, file: Path, *, fresh: bool):
        self.plan, self.file, self.fresh = plan, file, fresh
        self._rows: dict[str, list] | None = None

    def find(self, folder: str) -> Run:
        """The run of a folder.

        Raises:
            UserError: no row of the plan has such a run.
        """
        row = self.row(folder)
        run = self.plan.run(row)
        if run.folder != folder:
            raise UserError(f"run {folder}: the configuration has changed; run the same call again")
        return run

    def row(self, folder: str) -> Row:
        """The first row of a run; raises as `find`."""
        known = self.plan.known
        if folder in known:
            return known[folder]
        if self._rows is None:
            self._rows = self._all() if self.fresh else self._read()
        if folder not in self._rows:
            near = difflib.get_close_matches(folder, self._rows, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UserError(f"run {folder}: no active study lists it{hint}")
        return Row(*self._rows[folder])

    def write(self) -> None:
        """Write the index for the jobs of this call."""
        write_text(self.file, json.dumps(self._all()))

    def _all(self) -> dict[str, list]:
        """Folder -> values of the first row, for every run of the active studies."""
        rows: dict[str, list] = {}
        for study in self.plan.studies:
            for row in self.plan.rows(study):
                rows.setdefault(self.plan.run(row).folder, list(vars(row).values()))
        return rows

    def _read(self) -> dict[str, list]:
        try:
            return dict(json.loads(read_plain(self.file)))
        except (OSError, ValueError, TypeError):
            return self._all()
