"""What a finished study consists of: its files, its targets by name, its page in the report."""

from dmlbench.plan import views
from dmlbench.plan.plan import Plan
from dmlbench.plan.spec import Spec

TABLE_FACES = ("csv", "md", "tex", "html")
FIGURE_FACES = ("png", "svg", "pdf")


def page(plan: Plan, study: str) -> dict:
    """A study as `dmlbench.presentation.study.Study` describes it."""
    description = plan.studies[study]
    return {
        "id": study,
        "title": description.title,
        "description": description.description,
        "question": description.question,
        "command": f"snakemake {study}",
        "selection": views.selection(plan, study, description.tournament.where),
        "metric": description.tournament.metric,
        "methods": views.ranked_methods(plan, study),
        "ranked": [run.path for run in plan.runs(study, description.tournament.where)],
        "baseline": views.baseline(plan, study),
        "titles": views.titles(plan),
        "protocol": _protocol(plan, study),
        **_content(plan, study),
    }


def files(plan: Plan, study: str) -> list[str]:
    """Every file of a study's page."""
    content = _content(plan, study)
    faces = [
        view[face]
        for views_, names in ((content["tables"], TABLE_FACES), (content["figures"], FIGURE_FACES))
        for view in views_
        for face in names
    ]
    audit = list((content["audit"] or {}).values())
    return [content["scores"], content["tournament"], content["timings"], *faces, *audit]


def targets(plan: Plan, study: str) -> dict[str, list[str]]:
    """Target name -> files, for every table and figure of a study by name."""
    content = _content(plan, study)
    return {
        f"{study}_{kind}_{view['id']}": [view[face] for face in faces]
        for kind, faces in (("table", TABLE_FACES), ("figure", FIGURE_FACES))
        for view in content[f"{kind}s"]
    }


def _content(plan: Plan, study: str) -> dict:
    """The files of a study's page; they follow from its description, whatever its runs are."""
    description = plan.studies[study]
    folder = f"{plan.configuration.pathvars.results}/studies/{study}"
    audit = f"{plan.configuration.pathvars.results}/audit/{description.audit}"
    return {
        "scores": f"{folder}/scores.parquet",
        "tournament": f"{folder}/tournament.csv",
        "timings": f"{folder}/timings.csv",
        "tables": [
            _faces(f"{folder}/tables/{name}", name, table, TABLE_FACES)
            for name, table in description.tables.items()
        ],
        "figures": [
            _faces(f"{folder}/figures/{name}", name, figure, FIGURE_FACES)
            for name, figure in _figures(description).items()
        ],
        "audit": {"csv": f"{audit}.csv", "md": f"{audit}.md"} if description.audit else None,
    }


def _figures(description) -> dict:
    maps = {f"map_{name}": view for name, view in description.embedding_maps.items()}
    return description.figures | maps


def _faces(stem: str, name: str, view, faces: tuple[str, ...]) -> dict[str, str]:
    files = {face: f"{stem}.{face}" for face in faces}
    return {"id": name, "title": view.title, "caption": view.caption, **files}


def _protocol(plan: Plan, study: str) -> dict[str, str]:
    """How a study was run, label -> text."""
    runs = plan.runs(study)
    training = dict.fromkeys(_training(plan.spec(run)) for run in runs if plan.spec(run).epochs)
    return {
        "Data": _listed(plan.datasets[run.dataset].title for run in runs),
        "Network": _listed(plan.networks[run.network].title for run in runs),
        "Embedding size": _listed(str(run.embedding_dim) for run in runs),
        "Split": _listed(run.split for run in runs),
        "Recipe": _listed(plan.recipes[run.recipe].title for run in runs),
        "Seeds": _listed(str(run.seed) for run in runs),
        "Training": "; ".join(training),
        "Runs": str(len(runs)),
    }


def _training(spec: Spec) -> str:
    length = f"{spec.epochs} epochs"
    if spec.iterations_per_epoch:
        length += f" of {spec.iterations_per_epoch} iterations"
    optimizer = f"{spec.optimizer.name}, learning rate {spec.optimizer.learning_rate:g}"
    return f"{length}, batches of {spec.batch_size}, {optimizer}"


def _listed(names) -> str:
    return ", ".join(dict.fromkeys(names))
