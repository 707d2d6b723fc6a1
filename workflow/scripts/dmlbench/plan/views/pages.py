"""The parts of a finished study: its files, its targets by name, its page in the report."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from dmlbench.errors import UserError
from dmlbench.plan import paths
from dmlbench.plan.catalogs.naming import slug
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.studies.claims import FILE as CLAIMS
from dmlbench.plan.views import score_files, views


def page(plan: Plan, study: str) -> dict:
    """A study as `dmlbench.presentation.study.Study` describes it."""
    description = plan.studies[study]
    return {
        "id": study,
        "title": description.title,
        "description": description.description,
        "source": description.source,
        "question": description.question,
        "command": f"snakemake {study}",
        **_ranking(plan, study),
        "baseline": views.baseline(plan, study),
        "answer": list(description.answer),
        "years": views.years(plan, views.methods(plan, study, Where())),
        "titles": views.titles(plan, study),
        "rehearsal": plan.configuration.rehearsal is not None,
        "protocol": _protocol(plan, study),
        "folders": _folders(plan, study),
        **_content(plan, study),
    }


def _ranking(plan: Plan, study: str) -> dict:
    """What a page says about the tournament; empty without one."""
    ranking = plan.studies[study].tournament
    if ranking is None:
        return {}
    return {
        "selection": views.selection(plan, study, ranking.where),
        "metric": ranking.metric,
        "methods": views.ranked_methods(plan, study),
        "ranked": [row for row, _ in score_files.shown(plan, study, ranking.where)],
    }


def files(plan: Plan, study: str) -> list[str]:
    """Every file of a study's page."""
    page_files = _content(plan, study)
    made = [page_files[kind] for kind in ("browser", "document") if page_files[kind]]
    return content(plan, study) + made


def content(plan: Plan, study: str) -> list[str]:
    """The inputs of a study's pages and documents."""
    content = _content(plan, study)
    shown = [file for _, _, files in _views(content) for file in files]
    several = [file for kind in ("tournament", "audit") for file in (content[kind] or {}).values()]
    kinds = ("scores", "timings", "agreement", "claims")
    own = [content[kind] for kind in kinds if content[kind]]
    return [*own, *shown, *several]


def browsed(plan: Plan, study: str) -> dict:
    """The arguments of `presentation.runs.write_runs` for a study."""
    results = plan.configuration.pathvars.results
    rows = plan.rows(study)
    return {
        "rows": [
            row.columns | {"run": plan.run(row).folder, "selection": plan.run(row).spec.selection}
            for row in rows
        ],
        "study": {
            key: value
            for key, value in page(plan, study).items()
            if key in ("id", "title", "titles", "scores", "timings", "rehearsal")
        },
        "results": results,
        "images": {
            name: f"{results}/{paths.made('index', data=plan.data(name).folder)}"
            for name in {row.dataset: None for row in rows}
        },
    }


def neighbors(plan: Plan, study: str) -> dict:
    """The arguments of `presentation.neighbors.write_neighbors` for a study."""
    results = plan.configuration.pathvars.results
    runs = {}
    for row in plan.rows(study):
        run = plan.run(row)
        network, data = run.spec.network, plan.data(row.dataset).folder
        packed = paths.PACKED.format(data=data, size=network.pixels, mode=network.mode)
        runs[run.folder] = {
            "run": run.folder,
            "selection": run.spec.selection,
            "pixels": f"{results}/{packed}",
        }
    return {"runs": list(runs.values()), "results": results}


def targets(plan: Plan, study: str) -> dict[str, list[str]]:
    """Target name -> files, for every table, figure and embedding map, and for the claims."""
    content = _content(plan, study)
    claims = {f"{study}_claims": [content["claims"]]} if content["claims"] else {}
    return claims | {
        f"{study}_{kind}_{name.removeprefix('map_')}": files
        for kind, name, files in _views(content)
    }


def _views(content: dict) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, id and files of each table and figure of a page."""
    for kind in ("table", "figure"):
        for view in content[f"{kind}s"]:
            yield kind, view["id"], [view[suffix] for suffix in paths.outputs(kind)]


def papers(plan: Plan, those: Sequence[str], what: str) -> list[str]:
    """The papers that are among the active studies, for a page of all of them.

    Args:
        those: all papers with what the page shows.
        what: names that in the error.

    Raises:
        UserError: a study is broken, or none of the active ones is such a paper.
    """
    plan.check_all_studies()
    active = [study for study in those if study in plan.studies]
    if not active:
        raise UserError(
            f"no {what} of the studies {', '.join(plan.studies)}; with {what}: {', '.join(those)}"
        )
    return active


def to_read(plan: Plan, asked: Iterable[str]) -> list[str]:
    """The files that a user reads first after a call: the report, or a table or figure."""
    documents = []
    for name in asked:
        if name in plan.studies:
            documents.append(f"{plan.configuration.pathvars.results}/{paths.made('report')}")
        for study in plan.studies:
            if name.startswith((f"{study}_table_", f"{study}_figure_")):
                files = targets(plan, study).get(name, ())
                documents += [file for file in files if file.endswith((".md", ".png"))]
    return list(dict.fromkeys(documents))


def _content(plan: Plan, study: str) -> dict:
    """The files of a study's page; they depend on its description, not on its runs."""
    description = plan.studies[study]
    results = plan.configuration.pathvars.results

    def made(rule: str, output: str = "", **wildcards: str) -> str:
        return f"{results}/{paths.made(rule, output, **wildcards)}"

    def all_of(rule: str, **wildcards: str) -> dict[str, str]:
        return {suffix: made(rule, suffix, **wildcards) for suffix in paths.outputs(rule)}

    def view(rule: str, shown, **wildcards: str) -> dict[str, str]:
        return {"title": shown.title, "caption": shown.caption, **all_of(rule, **wildcards)}

    audit = description.audit
    claimed = study == audit and (plan.folder / "reference" / study / CLAIMS).exists()
    return {
        "scores": made("aggregate", "scores", study=study),
        "tournament": all_of("tournament", study=study) if description.tournament else None,
        "timings": made("timings", study=study) if description.runs else None,
        "browser": made("run_browser", study=study) if description.runs else None,
        "document": made("document", study=study),
        "agreement": made("agreement_document", study=study) if study == audit else None,
        "claims": made("claims_document", study=study) if claimed else None,
        "tables": [
            {"id": name, **view("table", table, study=study, table=name)}
            | {"kind": table.kind.name, "options": table.kind.hyperparameters}
            for name, table in description.tables.items()
        ],
        "figures": [
            {"id": name, **view("figure", figure, study=study, figure=name)}
            for name, figure in description.figures.items()
        ]
        + [
            {"id": f"map_{name}", **view("embedding_map", shown, study=study, map=name)}
            for name, shown in description.embedding_maps.items()
        ],
        "audit": all_of("audit_document", study=audit) if audit else None,
    }


def _protocol(plan: Plan, study: str) -> dict[str, str]:
    """How a study was run, label -> text."""
    rows, runs = plan.rows(study), plan.runs(study)
    if not rows:
        return {}
    training = dict.fromkeys(_training(run.spec) for run in runs if run.spec.epochs)
    return {
        "Data": _listed(plan.datasets[row.dataset].title for row in rows),
        "Network": _listed(plan.networks[row.network].title for row in rows),
        "Embedding size": _listed(str(row.embedding_dim) for row in rows),
        "Split": _listed(row.split for row in rows),
        "Recipe": _listed(plan.recipes[row.recipe].title for row in rows),
        "Seeds": _listed(str(row.seed) for row in rows),
        "Training": "; ".join(training),
        "Runs": str(len(runs)),
        "Configuration": f"{_digest(run.folder for run in runs)}, the digest of every run's spec, "
        "data and code versions",
    }


def _folders(plan: Plan, study: str) -> dict[str, dict[str, str]]:
    """Title -> index and split of the data sets that are folders of the user's."""
    results = plan.configuration.pathvars.results
    folders = {}
    for row in plan.rows(study):
        data, entry = plan.data(row.dataset), plan.datasets[row.dataset]
        if data.contents and entry.title not in folders:
            split = slug(plan.run(row).spec.split)
            folders[entry.title] = {
                "index": f"{results}/{paths.made('index', data=data.folder)}",
                "split": f"{results}/{paths.made('split', data=data.folder, split=split)}",
            }
    return folders


def _digest(folders: Iterable[str]) -> str:
    """One digest of several runs, from those at the ends of their folders."""
    return hashlib.sha256("\n".join(sorted(folders)).encode()).hexdigest()[:12]


def _training(spec: Spec) -> str:
    length = f"{spec.epochs} epochs"
    if spec.iterations_per_epoch:
        length += f" of {spec.iterations_per_epoch} iterations"
    optimizer = f"{spec.optimizer.name}, learning rate {spec.optimizer.learning_rate:g}"
    return f"{length}, batches of {spec.batch_size}, {optimizer}"


def _listed(names) -> str:
    return ", ".join(dict.fromkeys(names))
