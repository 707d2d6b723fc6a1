"""Commands for embeddings and scores that were made elsewhere: score, compare, referee."""

from pathlib import Path

import click

from dmlbench.command.types import PATH

_LABELS = click.argument("labels", type=PATH, required=False)
_COLUMN = click.option(
    "--label", "column", default="label", show_default=True, help="Column of the classes."
)
_METRICS = click.option("--metric", "metrics", multiple=True, help="Metric; may be repeated.")
_DISTANCE = click.option(
    "--distance",
    type=click.Choice(["cosine", "euclidean"]),
    default="cosine",
    show_default=True,
    help="What neighbors are near by.",
)


@click.command()
@click.argument("embeddings", type=PATH)
@_LABELS
@_COLUMN
@_METRICS
@_DISTANCE
@click.option("--output", type=PATH, help="Write the table: .csv, .md or .tex.")
def score(embeddings, labels, column, metrics, distance, output):
    """Score a matrix of EMBEDDINGS by all metrics.

    EMBEDDINGS is .npy or Parquet with one row per image, LABELS is CSV or Parquet. Metrics of
    retrieval have intervals for other test classes. LABELS has a column `label`, and may have `id`
    (the image), `split` or `role` (query, gallery). A Parquet file of embeddings may have these
    columns itself.
    """
    from dmlbench.referee.score import EVERY, scored

    found = scored(
        embeddings,
        _labels_of(embeddings, labels),
        column=column,
        metrics=metrics or EVERY,
        distance=distance,
    )
    click.echo(found.table.to_markdown())
    _warn(found.warnings)
    _write([found.table], output)


@click.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@_LABELS
@_COLUMN
@_METRICS
@_DISTANCE
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="The smallest difference that matters, in points.",
)
@click.option("--output", type=PATH, help="Write the table: .csv, .md or .tex.")
def compare(first, second, labels, column, metrics, distance, margin, output):
    """Compare two matrices of the same images.

    SECOND less FIRST, query by query, for other test classes: an interval, a test of a difference,
    a test that there is none that matters, and the difference that could have been seen.
    """
    from dmlbench.referee.compare import METRICS, compared

    found = compared(
        first,
        second,
        _labels_of(first, labels),
        column=column,
        metrics=metrics or METRICS,
        distance=distance,
        margin=margin,
    )
    click.echo(f"{found.sentence}\n")
    click.echo(found.table.to_markdown())
    _warn(found.warnings)
    _write([found.table], output)


@click.command()
@click.argument("results", type=PATH)
@click.option("--against", help="The method that all others are compared with; default: all pairs.")
@click.option(
    "--about",
    type=click.Choice(["seeds", "classes"]),
    help="What the verdict must hold for; refused if the scores cannot say it.",
)
@click.option(
    "--percent/--fraction", default=None, help="Unit of scores; default: as their size says."
)
@click.option("--output", type=PATH, help="Write all tables: .md or .tex.")
def referee(results, against, about, percent, output):
    """Judge a table of scores of several methods.

    RESULTS is CSV or Parquet with the columns method, data, split, seed, metric, value. Differences
    have intervals and are corrected for their number (Holm); where there are several data sets or
    splits, methods are ranked. Seeds on one split of the classes say something about other seeds,
    several splits about other classes.
    """
    from dmlbench.referee.results import refereed

    found = refereed(results, against=against, about=about, percent=percent)
    click.echo(f"{found.sentence}\n")
    click.echo("\n".join(table.to_markdown() for table in found.tables))
    _write(found.tables, output)


def _labels_of(embeddings: Path, labels: Path | None) -> Path:
    if labels is None and embeddings.suffix != ".parquet":
        raise click.UsageError("LABELS is missing; only a Parquet file can have its own")
    return embeddings if labels is None else labels


def _warn(warnings: list[str]) -> None:
    for warning in dict.fromkeys(warnings):
        click.echo(f"warning: {warning}", err=True)


def _write(tables, output: Path | None) -> None:
    if output is None:
        return
    from dmlbench.files import write_text

    makers = {
        ".csv": lambda table: table.to_csv(),
        ".md": lambda table: table.to_markdown(),
        ".tex": lambda table: table.to_latex(),
    }
    if len(tables) > 1:
        del makers[".csv"]
    if output.suffix not in makers:
        raise click.UsageError(f"--output {output}: allowed: a name in {', '.join(makers)}")
    write_text(output, "\n".join(map(makers[output.suffix], tables)))
    click.echo(f"written: {output}", err=True)
