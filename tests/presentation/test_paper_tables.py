"""The papers' tables from made-up scores, in seconds: no cell is empty without a reason."""

import json

import numpy as np
import pandas as pd
import pytest
from dmlbench.plan import view_checks, views
from dmlbench.presentation.view_files import Searched, table_of
from dmlbench.statistics.aggregation import COLUMNS, ROLES
from empty_cells import check_cells
from project import CONFIG, load_studies

PAPERS = sorted(folder.name for folder in (CONFIG / "reference").iterdir() if folder.is_dir())

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=PAPERS)
def paper(request):
    return request.param, load_studies(request.param)


def test_no_cell_is_empty_without_a_reason(paper, tmp_path):
    study, loaded = paper
    for name, view in loaded.studies[study].tables.items():
        if view.experiments:
            continue  # computed in minutes; a rehearsal has them
        facts = views.facts(loaded, study, "table", name)
        shown = made_up_scores(loaded, study, view)
        if view.searches:
            trials = {search: made_up_trials(each) for search, each in facts["searches"].items()}
            shown = Searched(trials, shown)
        table = table_of(shown, facts, views.printed_files(loaded, study, view))
        file = tmp_path / f"{name}.csv"
        file.write_text(table.to_csv())
        check_cells(file)


def made_up_scores(loaded, study, view):
    """A long table of the view's rows, with all metrics that they will have."""
    draws, known = np.random.default_rng(0), view_checks.known(loaded, study, view)
    rules = dict.fromkeys([views.selection_of(loaded, study, view), "last_epoch"])
    scores = [
        row.columns | {"run": "r", "role": role, "selection": rule, "metric": metric}
        for row in known.rows
        for role in ROLES
        for metric in sorted(known.metrics(row, role))
        for rule in rules
    ]
    return pd.DataFrame(scores, columns=COLUMNS).assign(value=draws.uniform(size=len(scores)))


def made_up_trials(search):
    """Two trials, at the ends of each parameter's range."""
    ends = [
        {place: (each["choices"] or [each["low"], each["high"]])[end] for place, each in parameters}
        for parameters in [search["parameters"].items()]
        for end in (0, -1)
    ]
    return pd.DataFrame(
        {
            "number": [0, 1],
            "state": "complete",
            "values": [json.dumps(values) for values in ends],
            "validation": [0.4, 0.5],
            "trained": True,
            "seconds": 3600.0,
        }
    )
