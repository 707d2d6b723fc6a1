"""A finished study for pages and terminal: its files, and the description for a page."""

from dmlbench.presentation.style import save
from dmlbench.presentation.table import write
from dmlbench.statistics.timings import timings
from dmlbench.statistics.tournament import write_tournament
from kinds import build
from run_files import run_files

BARE = {
    "source": "",
    "answer": [],
    "years": {},
    "browser": None,
    "agreement": None,
    "claims": None,
    "audit": None,
    "rehearsal": False,
}
"""What every study says, for one that has none of it."""


def make_study(folder, scores, titles, methods, selection="best_test_epoch"):
    folder.mkdir(parents=True)
    scores.to_parquet(folder / "scores.parquet")
    rows, files = run_files(scores, folder / "runs")
    board = {suffix: folder / f"tournament.{suffix}" for suffix in ("csv", "parquet")}
    write_tournament(
        rows,
        files,
        **board,
        metric="recall_at_1",
        methods=methods,
        selection=selection,
    )
    (folder / "benchmark.tsv").write_text("s\tmax_rss\n90.0\t512.0\n")
    run = {"train": folder / "benchmark.tsv"}
    timings({"run/a": run, "run/b": run}, folder / "timings.csv")
    options = {"methods": methods, "selection": selection, "title": "R & <R>"}
    kind = build("tables", "scores_by_method", id="t1", metrics=["recall_at_1"], **options)
    table = {end: folder / "tables" / f"t1.{end}" for end in ("csv", "md", "tex", "html")}
    write(kind(scores, titles), **table)
    kind = build("figures", "recall_by_embedding_dim", **options)
    figure = {end: folder / "figures" / f"f1.{end}" for end in ("png", "svg", "pdf")}
    save(kind(scores, titles), **figure)
    (folder / "study.tex").touch()
    kind = {"kind": "scores_by_method", "options": {}}
    return BARE | {
        "id": folder.name,
        "title": "Losses & <letters>",
        "description": "A description.",
        "question": "Which loss?",
        "command": "snakemake demo --cores 2",
        "selection": selection,
        "metric": "recall_at_1",
        "methods": methods,
        "ranked": rows,
        "baseline": "untrained",
        "titles": titles,
        "scores": folder / "scores.parquet",
        "tournament": board,
        "timings": folder / "timings.csv",
        "tables": [{"id": "t1", "title": "R & <R>", "caption": "Our table.", **table, **kind}],
        "figures": [{"id": "f1", "title": "By size", "caption": "Our figure.", **figure}],
        "document": folder / "study.tex",
        "protocol": {"Data set": "glyphs, 240 characters", "Software": "torch 2.15.0"},
    }
