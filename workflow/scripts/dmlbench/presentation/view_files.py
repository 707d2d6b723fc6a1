"""Tables and figures of a study: from score files and the plan's facts to files.

Drawing code is imported where it is used: a table needs no matplotlib, and a chart no torch.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dmlbench import registry
from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.plan.catalogs.rows import all_but
from dmlbench.plan.catalogs.where import Where, has_variant
from dmlbench.presentation import table
from dmlbench.statistics.aggregation import collect, row_of
from dmlbench.statistics.placement import read_placed
from dmlbench.statistics.printed import read_printed_settings


class Searched(NamedTuple):
    """The results of a table's searches.

    Attributes:
        trials: search -> one row per trial, as `dmlbench.search` writes them.
        scores: the long table of scores, with the tuned runs in it (variant `tuned=<search>`).
    """

    trials: dict[str, pd.DataFrame]
    scores: pd.DataFrame


def write_table(
    scores: Sequence[Path],
    facts: dict,
    *,
    queries: Sequence[Path] = (),
    board: Sequence[Path] = (),
    printed: Sequence[Path] = (),
    trials: Sequence[Path] = (),
    tables: Sequence[Path] = (),
    **files: Path,
) -> None:
    """Write a table in the requested formats.

    Args:
        scores: for each row of `facts["rows"]` the file of its run's scores.
        facts: as `dmlbench.plan.views.views.facts` gives them.
        queries: for each row the file of its run's queries, for kinds that use them.
        board: the file of the study's tournament (Parquet), for a view of just that.
        printed: transcriptions of the printed tables that it shows next to ours, with
            `mapping.yaml` in the same folder.
        trials: for each of `facts["searches"]` the file of its trials; the kind is called with
            `Searched` instead of the long table.
        tables: tables of the experiments that it shows.
        files: format (`csv`, `md`, `tex`, `html`) -> file to write.
    """
    shown = collect(facts["rows"], scores, tables=tables)
    if trials:
        searched = zip(facts["searches"], map(pd.read_parquet, trials), strict=True)
        shown = Searched(dict(searched), shown)
    facts = facts | {"queries": queries, "board": board}
    table.write(table_of(shown, facts, printed), **files)


def table_of(
    scores: pd.DataFrame | Searched, facts: dict, printed: Sequence[Path] = ()
) -> table.Table:
    """The table of the scores of its rows.

    Args:
        scores: the long table, or `Searched` for a table of searches.
        facts, printed: as in `write_table`.
    """
    built = build("presentation/tables", facts, printed)(scores)
    if "published" in facts:
        built = replace(built, notes=(*built.notes, facts["published"]))
    return table.as_rehearsal(built) if facts["rehearsal"] else built


def write_figure(
    scores: Sequence[Path],
    facts: dict,
    *,
    board: Sequence[Path] = (),
    printed: Sequence[Path] = (),
    tables: Sequence[Path] = (),
    arrays: Sequence[Path] = (),
    **files: Path,
) -> None:
    """Write a figure in the requested formats (`pdf`, `svg`, `png`).

    Args:
        arrays: npz files of experiments' seeds or of runs' measures, for kinds that draw them.
        scores, facts, board, printed, tables, files: as in `write_table`.
    """
    facts = facts | {"arrays": _arrays(arrays), "board": board}
    view = build("presentation/figures", facts, printed)
    _save(view(collect(facts["rows"], scores, tables=tables)), facts, files)


def write_embedding_map(
    embeddings: Sequence[Path], facts: dict, *, pixels: Path, pixel_table: Path, **files: Path
) -> None:
    """Write an embedding map of several runs, one panel each.

    Args:
        embeddings: for each row of `facts["rows"]` its run's embeddings, of the same images.
        facts: as `dmlbench.plan.views.views.facts` gives them.
        pixels, pixel_table: the packed images that the runs share.
        files: format (`pdf`, `svg`, `png`) -> file to write.
    """
    from dmlbench.data.pixels import Pixels
    from dmlbench.presentation._thumbnails import thumbnails
    from dmlbench.presentation.embedding_map import embedding_map

    rows = map(row_of, facts["rows"])
    panels = {
        " ".join(filter(None, [facts["titles"][row.method], row.variant])): _tested(
            read_embeddings(path)[facts["selection"]]
        )
        for row, path in zip(rows, embeddings, strict=True)
    }
    image_ids, labels, _ = next(iter(panels.values()))
    images = thumbnails(Pixels(pixels, pixel_table), image_ids)
    figure = embedding_map(
        {title: vectors for title, (_, _, vectors) in panels.items()},
        labels,
        images[..., 0] if images.shape[-1] == 1 else images,
        seed=0,
        title=facts["title"],
        classes=facts["classes"],
    )
    _save(figure, facts, files)


def _save(figure, facts: dict, files: dict[str, Path]) -> None:
    from dmlbench.presentation import style

    if facts["rehearsal"]:
        style.mark_rehearsal(figure)
    style.save(figure, **files)


def _tested(roles: dict[str, Embedded]) -> Embedded:
    """The test images, or the gallery if there is one."""
    return roles["test"] if "test" in roles else roles["gallery"]


def build(package: str, facts: dict, printed: Sequence[Path]):
    """A view's kind, which is called with the scores; arguments as in `write_table`."""
    context = {key: value for key, value in facts.items() if key not in ("kind", "options")}
    options = dict(facts["options"])
    if "printed" in options:
        scores = [file for file in printed if Path(file).name.startswith("table_")]
        placed = read_placed(scores)
        placed["variant"] = placed["variant"].replace(options.get("compared_with") or {})
        where = Where(**facts["where"])
        kept = [_fits(number, where, placed=number.why == "") for number in placed.itertuples()]
        options["printed"] = placed[np.array(kept, dtype=bool)].reset_index(drop=True)
    if "printed_settings" in options:
        settings = [file for file in printed if Path(file).name.startswith("settings_")]
        options["printed_settings"] = read_printed_settings(settings)
    return registry.build(package, facts["kind"], context=context, **options)


def _fits(number, where: Where, *, placed: bool) -> bool:
    """Whether a printed number is one of a view's rows; without a place, only data sets count."""
    for column in all_but("recipe", "variant", "fold", "seed"):
        wanted = getattr(where, column)
        free = wanted is None or (not placed and column != "dataset")
        if not free and getattr(number, column) not in wanted:
            return False
    return where.variant is None or not placed or has_variant(number.variant, where.variant)


def _arrays(files: Sequence[Path]) -> dict[int | str, dict[str, np.ndarray]]:
    """Arrays by the seed of an experiment, or by the file of a run's measure."""
    by_seed = {}
    for file in map(Path, files):
        number = file.stem.removeprefix("seed")
        with np.load(file) as loaded:
            by_seed[int(number) if number.isdigit() else str(file)] = dict(loaded)
    return by_seed
