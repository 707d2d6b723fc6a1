"""A paper's printed tables beside ours, cell by cell: one page for each of them.

    python -m dmlbench.presentation.beside <study> <folder>

Ours are the scores of the paper's own study, or those of a study that tests the paper's claims on
other data (a stand-in of claims.yaml): of this results folder, or else the published ones.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.files import write_text
from dmlbench.plan import paths
from dmlbench.plan.specs import published_runs
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.studies import claims as claims_of
from dmlbench.plan.studies.mapping import cell_of
from dmlbench.plan.views import score_files
from dmlbench.presentation._latex import side_by_side
from dmlbench.presentation._templates import write_page
from dmlbench.presentation.table import Cell, Column, Table, TableRow
from dmlbench.presentation.texts import name
from dmlbench.program import errors_in_one_line
from dmlbench.statistics.aggregation import no_scores
from dmlbench.statistics.agreement import selected
from dmlbench.statistics.claims import PRINTED, Judged, evidence_of, read_published
from dmlbench.statistics.printed import decimals, display_table, read_printed_files

_GROUP = ("dataset", "network", "embedding_dim", "split")
"""The coordinates of a printed number that head its column, where they vary."""


class Beside(NamedTuple):
    """A printed table, and what is ours in the same cells.

    Attributes:
        title: the paper, and which table of it.
        tables: the printed one, then ours.
    """

    title: str
    tables: list[Table]


def beside(plan: Plan, study: str) -> Iterator[Beside]:
    """The printed tables of which a study has numbers, each with ours in its form.

    A study on other data than the paper's is beside the tables of the data that its own is a form
    of, as cub200_160 is of cub200, or beside all of them if the paper has none of these.

    Raises:
        UserError: there is no such study, no paper that it belongs to, or no score of it.
    """
    plan.study(study)
    titles = {key: entry.title for key, entry in (plan.datasets | plan.networks).items()}
    titles |= {key: entry.title for key, entry in plan.methods.items()}
    for folder in _papers(plan, study):
        evidence = _evidence(plan, study, folder)
        printed = read_printed_files(sorted(folder.glob("table_*.csv")))
        data = [dataset for each in evidence for dataset in each.data.split(", ")]
        near = [any(own.startswith(of) for own in data) for of in printed["dataset"]]
        shown = printed[near] if any(near) else printed
        for (table, panel), lines in shown.groupby(["table", "panel"], sort=False):
            grid = _Grid(lines.to_dict("records"), titles)
            ours = [table for table in map(grid.ours, evidence) if _says_something(table)]
            if ours:
                title = f"{folder.name}, table {display_table(table)}{panel}"
                yield Beside(title, [grid.printed(), *ours])


def write_beside(found: Sequence[Beside], study: str, folder: Path) -> None:
    """Write `beside` as a page, beside.html, and as tables for LaTeX, beside.tex, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [(title, [table.to_html() for table in tables]) for title, tables in found]
    write_page("beside.html", folder / "beside.html", rehearsal=False, study=study, pages=pages)
    write_text(folder / "beside.tex", "\\clearpage\n".join(side_by_side(*each) for each in found))


class _Grid:
    """The cells of a printed table: a row for each method and variant, a column for each metric."""

    def __init__(self, lines: Sequence[dict[str, Any]], titles: dict[str, str]):
        self.titles = titles
        varying = [each for each in _GROUP if len({line[each] for line in lines}) > 1]
        self.cells = {
            (
                (line["method"], line["variant"]),
                (*(line[each] for each in varying), line["metric"]),
            ): line
            for line in lines
        }

    def printed(self) -> Table:
        """The numbers and their spreads, as they are printed."""

        def cell(line: dict[str, Any]) -> Cell:
            return _cell(line["number"], float(line["std"] or "nan"))

        shared = [{line[each] for line in self.cells.values()} for each in _GROUP]
        said = [name(self.titles, *values) for values in shared if len(values) == 1]
        return self._table(PRINTED, cell, ", ".join(filter(None, said)))

    def ours(self, judged: Judged) -> Table:
        """What the evidence has in the same cells."""
        evidence = judged.evidence[claims_of.METHODS]

        def cell(line: dict[str, Any]) -> Cell:
            place = claims_of.Cell(**cell_of(line))
            value = evidence.value(place)
            return Cell(None) if value is None else _cell(value, evidence.deviation({place: 1.0}))

        return self._table(judged.name, cell, judged.data, judged.differs)

    def _table(self, title: str, cell: Callable[[dict[str, Any]], Cell], *notes: str) -> Table:
        places, columns = (list(dict.fromkeys(at)) for at in zip(*self.cells, strict=True))
        rows = []
        for method, variant in places:
            lines = [self.cells.get(((method, variant), column)) for column in columns]
            label = [name(self.titles, method), *filter(None, variant.split(";"))]
            cells = (Cell(None) if line is None else cell(line) for line in lines)
            rows.append(TableRow(", ".join(label), tuple(cells)))
        shown = tuple(map(self._column, columns))
        title = title[0].upper() + title[1:]
        return Table("", title, "", "Loss", shown, tuple(rows), tuple(filter(None, notes)))

    def _column(self, column: tuple[str, ...]) -> Column:
        *group, metric = column
        return Column(
            "_".join(column),
            name(self.titles, metric),
            ", ".join(name(self.titles, each) for each in group if each),
            max(
                decimals(line["value"]) for place, line in self.cells.items() if place[1] == column
            ),
            quantity(metric).better,
        )


def _cell(value: float, spread: float) -> Cell:
    return Cell(value, None if math.isnan(spread) else spread)


def _says_something(table: Table) -> bool:
    return any(cell.value is not None for row in table.rows for cell in row.cells)


def _papers(plan: Plan, study: str) -> list[Path]:
    """The folders of printed tables that a study belongs to."""
    folders = [file.parent for file in sorted(plan.folder.glob(f"reference/*/{claims_of.FILE}"))]
    own = [folder for folder in folders if study == folder.name or _stand_ins(study, folder)]
    if not own:
        raise UserError(
            f"study {study}: belongs to no printed tables; allowed: the study of a folder of "
            f"{plan.folder / 'reference'}, or a stand-in of its {claims_of.FILE}"
        )
    return own


def _stand_ins(study: str, folder: Path) -> list[claims_of.StandIn]:
    return [each for each in claims_of.read_claims(folder).stand_ins if each.study == study]


def _evidence(plan: Plan, study: str, folder: Path) -> list[Judged]:
    """What a study knows of the cells of a paper."""
    called = _stand_ins(study, folder)
    scores = {
        each: read_published(_scores(plan, each))
        for each in dict.fromkeys(each for stand_in in called for each in stand_in.studies)
    }
    own = no_scores()
    if study == folder.name:
        rows = [row for row, _ in score_files.selected(plan, study)]
        own = selected(read_published(_scores(plan, study)).scores, rows)
    return [each for each in evidence_of(folder, called, own, scores) if each.name != PRINTED]


def _scores(plan: Plan, study: str) -> Path:
    """A study's long table."""
    own = Path(plan.configuration.pathvars.results, paths.made("aggregate", "scores", study=study))
    if own.exists():
        return own
    published = published_runs.file_of(plan, study, "scores")
    if published is None:
        raise UserError(f"{own}: missing; allowed: a study that has run, or that is published")
    return Path(published)


if __name__ == "__main__":
    with errors_in_one_line():
        asked, into = sys.argv[1], Path(sys.argv[2])
        made = list(beside(plan.load_folder(Path("config")), asked))
        write_beside(made, asked, into)
        print(f"{asked}: {len(made)} printed tables beside ours in {into / 'beside.html'}")
