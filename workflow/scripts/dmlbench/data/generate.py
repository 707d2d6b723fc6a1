"""Data sets that are drawn: from a generator's name to its archive."""

from collections.abc import Sequence
from pathlib import Path

from dmlbench import registry


def generate(
    generator: str, output: Path, archives: Sequence[Path] = (), **hyperparameters
) -> None:
    """Draw a data set into one zip.

    Args:
        generator: a file of `data/generators`.
        output: the zip to write.
        archives: the downloaded files that it draws from, if it does.
        hyperparameters: the generator's keyword-only arguments.

    Raises:
        UserError: unknown generator or hyper-parameter, an impossible number, a full disk.
    """
    registry.build("data/generators", generator, **hyperparameters).draw(
        Path(output), *map(Path, archives)
    )
