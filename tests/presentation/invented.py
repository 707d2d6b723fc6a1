"""A study's results with invented numbers: all inputs of its page, in seconds."""

import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from dmlbench import plan
from dmlbench.plan import paths
from dmlbench.plan.views import pages, score_files, views
from dmlbench.presentation._queries import SHOWN, extreme_queries
from dmlbench.presentation.document import write_document
from dmlbench.presentation.runs import write_runs
from dmlbench.presentation.view_files import write_figure, write_table
from dmlbench.statistics.aggregation import aggregate
from dmlbench.statistics.agreement import agreement
from dmlbench.statistics.audit import audit
from dmlbench.statistics.claims import claims
from dmlbench.statistics.timings import timings
from dmlbench.statistics.tournament import write_tournament
from PIL import Image

CONFIG = Path(__file__).parents[2] / "config"


def invent(study: str, results: Path, *, queries: int = 60, figures: bool = True) -> dict:
    """Write the results of all runs of a study, and its views; returns its page.

    Scores grow over the epochs toward a level for each method; nothing is trained. Tables of
    searches, figures of arrays and maps have no numbers and are left out.
    """
    loaded = plan.reload({"pathvars": {"results": str(results)}, "studies": [study]}, CONFIG)
    for row in loaded.rows(study):
        invent_run(loaded, row, results, queries)
    folder = results / "studies" / study
    page = pages.page(loaded, study)
    rows = [row for row, _ in score_files.shown(loaded, study)]
    files = [results / file for _, file in score_files.shown(loaded, study)]
    aggregate(rows, files, folder / "scores.parquet", runs=folder / "runs.csv")
    stages = ("train", "embed", "evaluate")
    costs = {
        run.folder: {stage: results / "costs" / stage / f"{run.folder}.tsv" for stage in stages}
        for run in loaded.runs(study)
    }
    timings(costs, folder / "timings.csv")
    if page["tournament"]:
        facts = views.facts(loaded, study, "tournament", None)
        write_tournament(
            facts["rows"],
            [results / "runs" / row["run"] / "scores.parquet" for row in facts["rows"]],
            **page["tournament"],
            **{key: facts[key] for key in ("metric", "methods", "selection")},
        )
    neighbors = folder / "neighbors"
    invent_neighbors(loaded, study, results, neighbors)
    write_runs(output=page["browser"], neighbors=neighbors, **pages.browsed(loaded, study))
    page["tables"] = [table for table in page["tables"] if _table(loaded, study, table, results)]
    drawn = page["figures"] if figures else []
    page["figures"] = [figure for figure in drawn if _figure(loaded, study, figure, results)]
    if page["audit"]:
        _compare(loaded, study, page, results)
    write_document(page, page["document"])
    return page


def invent_run(loaded, row, results: Path, queries: int) -> None:
    """Write the results of a row's run, unless they exist."""
    run = loaded.run(row)
    folder = results / "runs" / run.folder
    if folder.exists():
        return
    folder.mkdir(parents=True)
    rng = np.random.default_rng(zlib.crc32(run.folder.encode()))
    level = 0.3 + 0.3 * zlib.crc32(row.method.encode()) / 2**32 + 0.02 * rng.standard_normal()
    best = run.spec.selection
    scores = [
        ("test", rule, metric, level + 0.01 * place - 0.01 * (rule == "last_epoch"))
        for rule in dict.fromkeys([best, "last_epoch"])
        for place, metric in enumerate(loaded.metrics(run))
    ]
    frame = pd.DataFrame(scores, columns=["role", "selection", "metric", "value"])
    frame.to_parquet(folder / "scores.parquet", index=False)
    epochs = np.arange(1, max(run.spec.epochs, 1) + 1)
    curve = level * (1 - 0.7 * np.exp(-4 * epochs / len(epochs)))
    pd.DataFrame(
        {
            "epoch": epochs,
            "learning_rate": 1e-3,
            "loss": 5 * np.exp(-3 * epochs / len(epochs)) + 0.2 * rng.random(len(epochs)),
            "zero_losses": 0.0,
            "recall_at_1": curve + 0.005 * rng.standard_normal(len(epochs)),
        }
    ).to_parquet(folder / "history.parquet", index=False)
    (folder / "spec.yaml").write_text(yaml.safe_dump(run.spec.as_dict(), sort_keys=False))
    labels = 100 + np.arange(queries) // 6
    pd.DataFrame(
        {
            "image_id": np.arange(queries),
            "label": labels,
            "role": "test",
            "selection": best,
            "first_rank": rng.geometric(level, queries),
            "r_precision": rng.random(queries),
            "map_at_r": rng.random(queries) / 2,
        }
    ).to_parquet(folder / "queries.parquet", index=False)
    for stage, seconds in (("train", 4000), ("embed", 20), ("evaluate", 30)):
        file = results / "costs" / stage / f"{run.folder}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"s\tmax_rss\n{seconds * (1 + rng.random()):.1f}\t900.0\n")


def invent_neighbors(loaded, study: str, results: Path, folder: Path) -> None:
    """Write neighbors of the worst and best queries of every run: random images on a gray sheet."""
    folder.mkdir()
    Image.new("L", (6 * 64, 2 * SHOWN * 64), 128).save(folder / "gray.webp")
    rng, shown = np.random.default_rng(0), []
    for run in pages.neighbors(loaded, study)["runs"]:
        file = results / "runs" / run["run"] / "queries.parquet"
        queries, worst, best = extreme_queries(file, run["selection"])
        queries = pd.DataFrame(queries)
        for number, query in enumerate(queries.iloc[[*worst, *best]].itertuples()):
            near = queries.sample(5, random_state=rng)
            label = query.label
            shown.append([run["run"], "gray.webp", number, query.image_id, label, 0, 0.0])
            for place, other in enumerate(near.itertuples(), start=1):
                label = query.label if rng.random() < 0.4 else other.label
                image = [run["run"], "gray.webp", number, other.image_id, label]
                shown.append([*image, place, 0.1 * place])
    columns = ["run", "sheet", "query", "image_id", "label", "place", "distance"]
    pd.DataFrame(shown, columns=columns).to_parquet(folder / "neighbors.parquet", index=False)


def _table(loaded, study: str, files: dict, results: Path) -> bool:
    view = views.view(loaded, study, "table", files["id"])
    if view.searches or view.measures or view.experiments:
        return False
    facts = views.facts(loaded, study, "table", files["id"])
    runs = [results / "runs" / row["run"] for row in facts["rows"]]
    formats = {suffix: files[suffix] for suffix in paths.outputs("table")}
    printed = views.printed_files(loaded, study, view)
    scores = [results / file for _, file in score_files.shown(loaded, study, view.where)]
    queries = [run / "queries.parquet" for run in runs] if view.kind.name != "tournament" else ()
    write_table(scores, facts, queries=queries, printed=printed, **formats)
    return True


def _figure(loaded, study: str, files: dict, results: Path) -> bool:
    if files["id"].startswith("map_"):
        return False
    view = views.view(loaded, study, "figure", files["id"])
    if view.measures or view.experiments:
        return False
    facts = views.facts(loaded, study, "figure", files["id"])
    scores = [results / file for _, file in score_files.shown(loaded, study, view.where)]
    formats = {suffix: files[suffix] for suffix in paths.outputs("figure")}
    write_figure(scores, facts, printed=views.printed_files(loaded, study, view), **formats)
    return True


def _compare(loaded, study: str, page: dict, results: Path) -> None:
    reference = CONFIG / "reference" / study
    audit(reference, page["audit"]["csv"], page["audit"]["md"])
    if page["agreement"]:
        selected = score_files.selected(loaded, study)
        agreement(
            [row for row, _ in selected],
            [results / file for _, file in selected],
            tables=[],
            printed=sorted(reference.glob("table_*.csv")),
            findings=page["audit"]["csv"],
            output=page["agreement"],
        )
        claims(
            reference,
            [row for row, _ in selected],
            [results / file for _, file in selected],
            tables=[],
            stand_ins={},
            output=page["claims"],
        )
