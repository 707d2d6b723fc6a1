"""Tables and figures of musgrave2020 from made-up scores: all draw, next to the printed numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.plan.views import score_files, views
from dmlbench.presentation.view_files import write_figure, write_table
from dmlbench.statistics.aggregation import SCORES
from project import load_studies

STUDY = "musgrave2020"
METRICS = ["recall_at_1", "r_precision", "map_at_r", "nmi"]
TABLES = ["01", "02", "03", "04", "05", "pretrained", "concatenated_intervals"]
FIGURES = ["03", "04", "05"]
PRINTED = {"01": 9, "02": 9, "03": 72, "04": 72, "05": 72, "pretrained": 18}
"""Numbers in each table: those of the pretrained network have their own table."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def loaded():
    return load_studies(STUDY)


@pytest.fixture(scope="module")
def made(loaded, tmp_path_factory):
    """View -> files of made-up scores, one for each of its rows."""
    folder, draws = tmp_path_factory.mktemp("scores"), np.random.default_rng(0)

    def files(view):
        shown = score_files.shown(loaded, STUDY, view.where)
        for _, name in shown:
            file = folder / name
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                rules = {views.selection_of(loaded, STUDY, view), "last_epoch"}
                rows = [
                    dict(zip(SCORES.names, ("test", rule, metric, draws.uniform()), strict=True))
                    for rule in sorted(rules)
                    for metric in METRICS
                ]
                pq.write_table(pa.Table.from_pylist(rows, SCORES), file)
        return [folder / name for _, name in shown]

    return files


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_every_printed_number(loaded, made, tmp_path, name):
    view = loaded.studies[STUDY].tables[name]
    facts = views.facts(loaded, STUDY, "table", name)
    printed = views.printed_files(loaded, STUDY, view)
    write_table(made(view), facts, printed=printed, csv=tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv")
    found = table[[column for column in table if column.endswith("_printed")]]
    assert found.apply(pd.to_numeric).notna().sum().sum() == PRINTED.get(name, 0)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn(loaded, made, tmp_path, name):
    view = loaded.studies[STUDY].figures[name]
    facts = views.facts(loaded, STUDY, "figure", name)
    printed = views.printed_files(loaded, STUDY, view)
    write_figure(made(view), facts, printed=printed, png=tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
