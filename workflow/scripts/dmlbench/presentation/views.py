"""Tables and figures of a study: from score files and the plan's facts to files.

What draws is imported where it is used: a table needs no matplotlib, and a chart no torch.
"""

from collections.abc import Sequence
from pathlib import Path

from dmlbench import registry
from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.plan.run import Run
from dmlbench.presentation import table
from dmlbench.statistics.aggregation import collect


def write_table(scores: Sequence[Path], facts: dict, **files: Path) -> None:
    """Write a table in the faces asked for.

    Args:
        scores: score files of the runs that the table shows.
        facts: as `dmlbench.plan.views.facts` gives them.
        files: face (`csv`, `md`, `tex`, `html`) -> file to write.
    """
    table.write(_built("presentation/tables", scores, facts), **files)


def write_figure(scores: Sequence[Path], facts: dict, **files: Path) -> None:
    """Write a figure in the faces asked for (`pdf`, `svg`, `png`); arguments as `write_table`."""
    from dmlbench.presentation import style

    style.save(_built("presentation/figures", scores, facts), **files)


def write_embedding_map(
    embeddings: Sequence[Path], facts: dict, *, pixels: Path, pixel_table: Path, **files: Path
) -> None:
    """Write the map of several runs' embeddings, a panel each.

    Args:
        embeddings: embedding files of the runs in `facts["runs"]`, of the same images.
        facts: as `dmlbench.plan.views.facts` gives them.
        pixels, pixel_table: the packed images that the runs share.
        files: face (`pdf`, `svg`, `png`) -> file to write.
    """
    from dmlbench.data.pixels import Pixels
    from dmlbench.presentation import style
    from dmlbench.presentation.embedding_map import embedding_map

    runs = [Run.parse(path) for path in facts["runs"]]
    panels = {
        facts["titles"][run.method]: _tested(read_embeddings(path)[facts["selection"]])
        for run, path in zip(runs, embeddings, strict=True)
    }
    image_ids, labels, _ = next(iter(panels.values()))
    images = Pixels(pixels, pixel_table).images(image_ids).permute(0, 2, 3, 1).numpy()
    figure = embedding_map(
        {title: vectors for title, (_, _, vectors) in panels.items()},
        labels,
        images[..., 0] if images.shape[-1] == 1 else images,
        seed=0,
        title=facts["title"],
        classes=facts["classes"],
    )
    style.save(figure, **files)


def _tested(roles: dict[str, Embedded]) -> Embedded:
    """The test images; where queries search a gallery, the gallery."""
    return roles["test"] if "test" in roles else roles["gallery"]


def _built(room: str, scores: Sequence[Path], facts: dict):
    context = {key: value for key, value in facts.items() if key not in ("kind", "options")}
    view = registry.build(room, facts["kind"], context=context, **facts["options"])
    return view(collect(scores), facts["titles"])
