"""What a document's margins are computed from: config/reference/<study>/margins.yaml.

benchmarks/margins.py computes them; `controls` are read for verdicts as well.
"""

from pathlib import Path

from pydantic import PositiveInt

from dmlbench.plan.catalogs.choices import Model
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.studies.mapping import When


class Sources(Model):
    """What a document's noise is taken from; what it lacks is borrowed.

    Attributes:
        deviations: cells whose printed standard deviations are pooled.
        intervals_of: the number of runs of the printed 95 % intervals of means, or the largest
            plausible one, if the document does not say.
        repeats: cells that are one training under several settings: of each entry those with equal
            names.
        twins: cells that are means of other runs of one setting: of each entry those with equal
            names.
        like: the document from which data sets and metrics that are still missing are borrowed.
    """

    deviations: When | None = None
    intervals_of: PositiveInt | None = None
    repeats: list[When] = []
    twins: list[When] = []
    like: str = ""


class Control(Model):
    """What cells would be if what they add had no effect.

    Attributes:
        when: the cells.
        without: the printed variants of the same method without it; `{name}` is the value of a
            pattern's name.
    """

    when: When
    without: list[str]


class MarginSources(Model):
    """The file margins.yaml: what margins are computed from.

    Attributes:
        noise: the document's own noise.
        controls: the cells that claim an effect.
    """

    noise: Sources = Sources()
    controls: list[Control] = []


def read_sources(folder: Path) -> MarginSources:
    """The margins.yaml of a study's folder of printed numbers.

    Raises:
        UserError: the file is missing, or holds a wrong key or value.
    """
    return read_yaml(folder / "margins.yaml", MarginSources)
