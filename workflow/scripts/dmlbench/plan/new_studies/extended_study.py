"""A published study with one more loss, which is searched with the budget of the others."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dmlbench.errors import UserError, entry
from dmlbench.plan.catalogs.read import as_yaml
from dmlbench.plan.catalogs.variants import search_of
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.load import configuration_of, load, reload
from dmlbench.plan.new_studies.new_files import write_checked
from dmlbench.plan.new_studies.templates import filled
from dmlbench.plan.specs import published_runs
from dmlbench.plan.specs.config_folder import written_study
from dmlbench.plan.specs.plan import Plan

_SHOWN = ("tournament", "tables", "figures")
_RATE = "optimizer.learning_rate"


def extend(config: Path, own: Path, study: str, loss: str, tuned: Mapping[str, Any]) -> list[Path]:
    """Write a study that has a loss next to those of a published one, into `own/<study>_<loss>`.

    The published scores stand for the runs of the others. Where these are tuned, the loss gets
    searches of the same strategy, folds and budget, over learning rates and values of its own.

    Args:
        config: the configuration folder.
        own: where the user's folders are.
        study: published, with its runs.
        loss: an entry of methods.yaml that the study does not have.
        tuned: place in the spec, such as `loss.margin` -> its range, as in searches.yaml; of a
            loss for which there are such searches already none.

    Returns:
        The files. If the new configuration does not load, nothing is left of them.

    Raises:
        UserError: an unknown study or loss, a study that is not published or compares no losses, a
            loss that it has, ranges of a study without searches or of searches that are there.
    """
    configuration = configuration_of(own)
    plan = reload(configuration, config)
    title = entry("loss", loss, plan.methods).title
    name, folder = f"{study}_{loss}", own / f"{study}_{loss}"
    plan.study(study)
    if not published_runs.runs_of(plan, study):
        raise UserError(f"study {study}: has no published runs; allowed: a study that has")
    written = written_study(plan.files, study)
    grid = _grid(study, written, loss)
    values = {
        "base": study,
        "published_runs": [study],
        "title": f"{written['title']}, and {title}",
        "runs": [*written["runs"], grid | {"method": loss}],
    } | {key: _with(written[key], grid["method"], loss) for key in _SHOWN if key in written}
    texts = {
        folder / "studies" / f"{name}.yaml": filled("extended", name=name, study=study, loss=title)
        + as_yaml(values, width=100, default_flow_style=None)
    }
    if searches := _searches(plan, study, grid, loss, tuned):
        texts[folder / "searches.yaml"] = as_yaml(searches, width=100, default_flow_style=None)
    elif tuned:
        raise UserError(f"--tune {min(tuned)}: {loss} needs no new searches here; allowed: none")
    write_checked(texts, own, lambda: load(configuration | {"studies": [name]}, config))
    return list(texts)


def _grid(study: str, written: Mapping[str, Any], loss: str) -> dict[str, Any]:
    """The first of a study's grids that has several losses."""
    for grid in written["runs"]:
        methods = grid.get("method")
        if isinstance(methods, list) and len(methods) > 1:
            if loss in methods:
                raise UserError(f"study {study}: has {loss}; allowed: a loss that it has not")
            return grid
    raise UserError(f"study {study}: no list of runs has several losses; allowed: one that has")


def _with(values: Any, methods: list[str], loss: str) -> Any:
    """Views of all these losses, of one more as well."""
    if isinstance(values, list):
        if set(methods) <= {each for each in values if isinstance(each, str)}:
            return [*values, loss]
        return [_with(each, methods, loss) for each in values]
    if isinstance(values, dict):
        return {key: _with(each, methods, loss) for key, each in values.items()}
    return values


def _searches(
    plan: Plan, study: str, grid: Mapping[str, Any], loss: str, tuned: Mapping[str, Any]
) -> dict[str, Any]:
    """Searches for the loss like those of the first loss, by name; without those that exist."""
    searches = {}
    variants = plan.studies[study].variants
    for row in plan.rows(study, Where(method=grid["method"][0])):
        like = search_of(row.variant, variants, row)
        new = search_of(row.variant, variants, replace(row, method=loss))
        if like is None or new in plan.searches:
            continue
        values = plan.searches[like].model_dump(mode="json", exclude_defaults=True)
        rate = {_RATE: values["parameters"][_RATE]} if _RATE in values["parameters"] else {}
        searches[new] = values | {
            "title": f"{plan.methods[loss].title}, {row.dataset}, {row.split}",
            "run": values["run"] | {"method": loss},
            "parameters": rate | {place: dict(ends) for place, ends in tuned.items()},
        }
    return searches
