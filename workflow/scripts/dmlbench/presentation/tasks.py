"""The trainings and searches of a call as tasks of its progress, with what they will take."""

from collections import Counter
from collections.abc import Mapping
from functools import partial

from dmlbench.plan.cost_model import CostModel
from dmlbench.plan.costs import seconds_of_search
from dmlbench.plan.rows import Row
from dmlbench.presentation.progress_line import Task
from dmlbench.presentation.run_lines import learned, share, titles_of_rows


def of_trainings(
    model: CostModel, rows: Mapping[int, Row], folders: Mapping[int, str]
) -> dict[int, Task]:
    """Job -> its training.

    Args:
        rows: job -> the row that it trains.
        folders: job -> the folder of its run.
    """
    plan, results = model.plan, model.results
    titles = dict(zip(rows, titles_of_rows(plan, list(rows.values())), strict=True))
    specs = {job: plan.run(row).spec for job, row in rows.items()}
    return {
        job: Task(
            kind=f"train {row.network} {row.dataset} {specs[job].epochs}",
            title=titles[job],
            is_run=True,
            seconds=model.estimate(row.network, specs[job]).seconds,
            learned=partial(learned, results, folders[job]),
            share=partial(share, results, folders[job]),
        )
        for job, row in rows.items()
    }


def of_searches(model: CostModel, names: Mapping[int, str]) -> dict[int, Task]:
    """Job -> its share of a search, whose trials its workers divide.

    Args:
        names: job -> the search on which it works.
    """
    workers = Counter(names.values())
    whole = {name: seconds_of_search(model, name) for name in workers}
    return {
        job: Task(
            kind=f"search {model.plan.searches[name].run.network}",
            title=f"search {name}",
            seconds=whole[name] and whole[name] / workers[name],
        )
        for job, name in names.items()
    }
