"""best.yaml: the values that a search found, read by trainings and by people.

Imports neither torch nor Optuna.
"""

from pathlib import Path

from dmlbench.files import write_text
from dmlbench.plan.catalogs.choices import Model
from dmlbench.plan.catalogs.places import Place, with_values
from dmlbench.plan.catalogs.ranges import Value
from dmlbench.plan.catalogs.read import as_yaml, read_yaml


class Best(Model):
    """What a search found.

    Attributes:
        search: its id.
        metric: what was maximized, on validation images.
        validation: the best trial's score, a fraction; with folds, the mean of theirs.
        folds: those that each trial trained; none if the split has none.
        trial: number of the best trial.
        trials: state -> how many trials ended in it.
        values: place in the spec -> the best trial's value.
    """

    search: str
    metric: str
    validation: float
    folds: list[int] | None = None
    trial: int
    trials: dict[str, int]
    values: dict[Place, Value]


def write_best(path: Path, best: Best) -> None:
    """Write best.yaml."""
    write_text(path, as_yaml(best.model_dump(exclude_none=True)))


def read_best(path: Path) -> dict[str, Value]:
    """The best values of a search: place in the spec -> value, exactly as they were tried.

    `dmlbench.plan.catalogs.places.with_values` merges them into a spec's plain values.

    Raises:
        UserError: the file is missing, is not YAML, or lacks something.
    """
    return read_yaml(Path(path), Best).values


def with_best(spec: dict, path: Path | None) -> dict:
    """A spec's plain values with a search's best values merged in; unchanged without a search."""
    return spec if path is None else with_values(spec, read_best(path))
