# Needs:  PLAN and RESULTS of common.smk
# Leaves: what the rules of studies, their pages and targets ask of the plan. No rules.
import functools

from dmlbench import registry
from dmlbench.plan import costs, pages, views


def files_of(study, file, where=None):
    """A file of the run behind each row of a study, in the order of the rows."""
    rows = PLAN.rows(study, where)
    return [f"<results>/runs/{PLAN.run(row).folder}/{file}" for row in rows]


def scores_of(study, where=None, measures=()):
    """The files of scores of a study's rows, in the order of `views.shown`."""
    return [f"<results>/{file}" for _, file in views.shown(PLAN, study, where, measures)]


def experiments_of(names):
    """The tables of experiments, over their seeds."""
    return [
        f"<results>/experiments/{PLAN.experiments[name].folder(name)}/seed{seed}.parquet"
        for name in names
        for seed in PLAN.experiments[name].seeds
    ]


def view_of(wildcards, kind):
    return views.view(PLAN, wildcards.study, kind, wildcards.get(kind))


def view_scores(kind):
    """The scores of the runs that a view asks for, and of no other."""

    def scores(wildcards):
        view = view_of(wildcards, kind)
        return scores_of(wildcards.study, view.where, getattr(view, "measures", ()))

    return scores


def view_queries(kind):
    """What the queries of those runs found, in the order of the rows."""
    return lambda wildcards: files_of(
        wildcards.study, "queries.parquet", view_of(wildcards, kind).where
    )


def view_printed(kind):
    """The printed tables that a view shows next to ours."""

    def printed(wildcards):
        view = view_of(wildcards, kind)
        return [str(file) for file in views.printed_files(PLAN, wildcards.study, view)]

    return printed


def view_mapping(kind):
    """Where the printed numbers of a view find ours: read from the printed tables' folder."""

    def mapping(wildcards):
        folders = {Path(file).parent for file in view_printed(kind)(wildcards)}
        return sorted(str(folder / "mapping.yaml") for folder in folders)

    return mapping


def view_experiments(kind):
    """What the experiments that a view shows have left."""
    return lambda wildcards: experiments_of(view_of(wildcards, kind).experiments)


def figure_arrays(wildcards):
    """The arrays of measures and experiments, for the kinds of figures that draw them."""
    view = view_of(wildcards, "figure")
    room, kind = "presentation/figures", view.kind.name
    if registry.annotation(room, kind, "__init__", "arrays") is None:
        return []
    measured = [
        file
        for file in scores_of(wildcards.study, view.where, view.measures)
        if "/measures/" in file
    ]
    files = [*measured, *experiments_of(view.experiments)]
    return [file.removesuffix("parquet") + "npz" for file in files]


def table_queries(wildcards):
    """What the queries of a table's runs found, for the kinds of tables that look at them."""
    kind = view_of(wildcards, "table").kind.name
    asks = "queries" in registry.hyperparameters("presentation/tables", kind)
    return view_queries("table")(wildcards) if asks else []


def table_trials(wildcards):
    """The trials of the searches that a table shows."""
    names = view_of(wildcards, "table").searches
    return [f"<results>/{searches.folder(PLAN, name)}/trials.parquet" for name in names]


def view_facts(kind):
    """What a view's kind is built from."""

    def facts(wildcards):
        return views.facts(PLAN, wildcards.study, kind, wildcards.get(kind))

    return facts


def map_inputs(wildcards):
    """Embeddings of the runs of a map, and the pixels that they share."""
    where = view_of(wildcards, "map").where
    row = PLAN.rows(wildcards.study, where)[0]
    embeddings = files_of(wildcards.study, "embeddings.parquet", where)
    return {"embeddings": embeddings, **pixels_input(row, PLAN.run(row).spec)}


def printed_tables(wildcards):
    """The tables of a study as they are printed."""
    return sorted(map(str, (CONFIG / "reference" / wildcards.study).glob("table_*.csv")))


def reported_studies():
    """The studies asked for in this call, and those that an earlier one has finished."""
    asked = set(workflow.dag_settings.targets) or {"all"}
    return [
        study
        for study in PLAN.studies
        if asked & {study, "all"} or Path(RESULTS, "studies", study, "scores.parquet").exists()
    ]


def report_inputs(wildcards):
    return [file for study in reported_studies() for file in pages.files(PLAN, study)]


@functools.cache
def print_costs():
    """In a dry run: print once what the trainings asked for will cost."""
    if workflow.dryrun:
        for line in costs.summary(PLAN, sorted(workflow.dag_settings.targets) or ["all"]):
            print(f"dmlbench: {line}", file=sys.stderr)


def with_costs(files):
    """The files of a target, whose costs a dry run prints before them."""

    def inputs(wildcards):
        print_costs()
        return files

    return inputs
