# Needs:  PLAN and RESULTS of common.smk
# Leaves: inputs and parameters of the rules of studies, pages and targets. No rules.
from dmlbench import registry
from dmlbench.plan import pages, views
from dmlbench.plan.targets import unknown_target


def files_of(study, file, where=None):
    """A file of each row's run of a study, in the order of the rows."""
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


@in_one_line
def study_of(wildcards):
    return PLAN.study(wildcards.study)


@in_one_line
def view_of(wildcards, kind):
    """The view that a target's wildcards name."""
    return views.view(PLAN, wildcards.study, kind, wildcards.get(kind))


def view_scores(kind):
    """The scores of exactly the runs of a view."""

    def scores(wildcards):
        view = view_of(wildcards, kind)
        return scores_of(wildcards.study, view.where, views.measures_of(view))

    return scores


def view_queries(kind):
    """The queries of those runs, in the order of the rows."""
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
    """The mapping from the printed numbers of a view to ours, in the printed tables' folder."""

    def mapping(wildcards):
        folders = {Path(file).parent for file in view_printed(kind)(wildcards)}
        return sorted(str(folder / "mapping.yaml") for folder in folders)

    return mapping


def view_experiments(kind):
    """The outputs of the experiments that a view shows."""
    return lambda wildcards: experiments_of(view_of(wildcards, kind).experiments)


def figure_arrays(wildcards):
    """The arrays of measures and experiments, for the kinds of figures that draw them."""
    view = view_of(wildcards, "figure")
    if "arrays" not in registry.options("presentation/figures", view.kind.name):
        return []
    measured = [
        file
        for file in scores_of(wildcards.study, view.where, view.measures)
        if "/measures/" in file
    ]
    files = [*measured, *experiments_of(view.experiments)]
    return [file.removesuffix("parquet") + "npz" for file in files]


def table_queries(wildcards):
    """The queries of a table's runs, for the kinds of tables that use them."""
    kind = view_of(wildcards, "table").kind.name
    asks = "queries" in registry.options("presentation/tables", kind)
    return view_queries("table")(wildcards) if asks else []


def table_trials(wildcards):
    """The trials of the searches that a table shows."""
    names = view_of(wildcards, "table").searches
    return [f"<results>/{searches.folder(PLAN, name)}/trials.parquet" for name in names]


def view_facts(kind):
    """The facts from which a view's kind is built."""

    def facts(wildcards):
        return views.facts(PLAN, wildcards.study, kind, wildcards.get(kind))

    return facts


def map_inputs(wildcards):
    """Embeddings of the runs of a map, and the pixels that they share."""
    where = view_of(wildcards, "map").where
    row = PLAN.rows(wildcards.study, where)[0]
    embeddings = files_of(wildcards.study, "embeddings.parquet", where)
    return {"embeddings": embeddings, **pixels_input(row, PLAN.run(row).spec)}


def reported(category, file, kind):
    """An output that Snakemake's own report shows, by study and by the id of its view."""
    labels = {"study": "{study}", kind: f"{{{kind}}}"}
    caption = f"../workflow/report/{kind}.rst"
    return report(file, caption=caption, category=category, subcategory="{study}", labels=labels)


def templates(*names):
    """Templates of pages: a changed template makes the page again."""
    folder = LIBRARY / "dmlbench" / "presentation" / "templates"
    return [os.path.relpath(folder / name) for name in names]


def printed_tables(wildcards):
    """The printed tables of a study."""
    return sorted(map(str, (CONFIG / "reference" / wildcards.study).glob("table_*.csv")))


def reported_studies():
    """The studies that this call requests, and those that earlier calls have finished."""
    return [study for study in PLAN.studies if asked_for(study) or finished_files(study)]


def asked_targets():
    return set(workflow.dag_settings.targets) or {"all"}


def asked_for(study):
    """Whether this call makes all of a study."""
    return bool(asked_targets() & {study, "all"})


def finished_files(study):
    """The files of a study's page if all of them exist, else none."""
    files = [Path(file) for file in pages.files(PLAN, study)]
    return files if all(file.exists() for file in files) else []


def so_far(study, files):
    """The existing files of a study, or all of them if the study is requested."""
    whole = asked_for(study)
    return [file for file in files if whole or Path(file.replace("<results>", RESULTS)).exists()]


def scored_so_far(study):
    """Rows of a study's long table with their files of scores, as far as these exist."""
    rows = [(row, f"<results>/{file}") for row, file in views.selected(PLAN, study)]
    there = set(so_far(study, [file for _, file in rows]))
    return [(row, file) for row, file in rows if file in there]


def experiments_so_far(study):
    """The tables of a study's experiments, as far as they exist."""
    return so_far(study, experiments_of(PLAN.studies[study].experiments))


@in_one_line
def report_inputs(wildcards):
    if "all" in asked_targets():
        PLAN.check_all_studies()
    return [file for study in filter(asked_for, PLAN.studies) for file in pages.files(PLAN, study)]


def reported_as_they_are(wildcards):
    """Study -> time of its newest file, for studies that only an earlier call requested.

    Their files are not inputs: a page must not train what this call did not request.
    """
    return {
        study: max(file.stat().st_mtime_ns for file in finished_files(study))
        for study in reported_studies()
        if not asked_for(study)
    }


def refused_target(wildcards):
    """End the call with the targets closest to an unknown one."""
    named = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    sys.exit(f"dmlbench: {unknown_target(PLAN, wildcards.target, named)}")
