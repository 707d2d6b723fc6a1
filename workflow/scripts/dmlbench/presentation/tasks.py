"""The jobs of a call as tasks of its progress, with what they will take."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.costs.costs import name_of_search
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.presentation.progress_line import SMALL, Task
from dmlbench.presentation.run_lines import learned, share, titles_of_rows


def tasks(
    model: Estimator, row_of: Callable[[str], Row], jobs: Mapping[int, tuple[str, Mapping]]
) -> dict[int, Task]:
    """The jobs of a call by id, as tasks of its progress.

    Args:
        row_of: a row of a run's folder.
        jobs: id -> rule and wildcards.
    """
    folders = {job: asked["run"] for job, (rule, asked) in jobs.items() if rule == "train"}
    rows = {job: row_of(folder) for job, folder in folders.items()}
    titles = dict(zip(rows, titles_of_rows(model.plan, list(rows.values())), strict=True))
    searched = {
        job: name_of_search(asked["search"])
        for job, (rule, asked) in jobs.items()
        if rule == "search_worker"
    }
    workers, found = Counter(searched.values()), {}
    whole = {name: model.search(name).seconds for name in workers}
    for job, (rule, _) in jobs.items():
        if job in rows:
            row, spec = rows[job], model.plan.run(rows[job]).spec
            found[job] = Task(
                kind=f"train {row.network} {row.dataset} {spec.epochs}",
                title=titles[job],
                is_run=True,
                seconds=model.training(row.network, spec).seconds,
                learned=partial(learned, model.results, folders[job]),
                share=partial(share, model.results, folders[job]),
            )
        elif job in searched:
            # Its workers divide the trials of a search.
            name = searched[job]
            kind = f"search {model.plan.searches[name].run.network}"
            seconds = whole[name] and whole[name] / workers[name]
            found[job] = Task(kind, f"search {name}", seconds=seconds)
        else:
            found[job] = Task(rule, rule, seconds=model.job(rule) or SMALL)
    return found
