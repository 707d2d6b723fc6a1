"""A configuration to change, whose plan is loaded again after each change."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan import Plan
from dmlbench.plan.catalogs.read import read_mapping

CONFIG = Path(__file__).resolve().parents[2] / "config"
STUDY = {
    "title": "A study",
    "question": "Which?",
    "description": "Of nothing.",
    "runs": [
        {
            "dataset": "glyphs",
            "network": "convnet3",
            "embedding_dim": [8, 16],
            "method": ["untrained", "contrastive", "triplet"],
            "recipe": "glyphs",
            "split": "half",
            "seed": [0, 1],
        }
    ],
    "tournament": {"metric": "recall_at_1", "where": {"method": ["contrastive", "triplet"]}},
}


class Configured:
    """A copy of the configuration with one study, `mine`, and no searches.

    Attributes:
        folder: of the copy.
    """

    def __init__(self, folder: Path):
        unchanged = shutil.ignore_patterns("reference")
        self.folder = shutil.copytree(CONFIG, folder / "config", ignore=unchanged)
        (self.folder / "reference").symlink_to(CONFIG / "reference")
        self.write("studies/mine", STUDY)
        # Each load checks all searches; a test writes its own.
        self.write("searches", {"small": yaml.safe_load(SEARCH)})

    def write(self, file: str, values: dict) -> None:
        (self.folder / f"{file}.yaml").write_text(
            yaml.dump(values, Dumper=yaml.CSafeDumper, sort_keys=False)
        )

    def read(self, file: str) -> dict:
        return read_mapping(self.folder / f"{file}.yaml")

    def edit(self, file: str, change: Callable[[dict], object]) -> None:
        """Change the values of a file in place."""
        values = self.read(file)
        change(values)
        self.write(file, values)

    def change(self, file: str, keys: list, value: object) -> None:
        """Set the value at a path of keys of a file."""

        def put(values):
            for key in keys[:-1]:
                values = values[key]
            values[keys[-1]] = value

        self.edit(file, put)

    def override(self, recipe: str, override: dict) -> None:
        """Add an override to a recipe's."""
        self.edit("recipes", lambda values: values[recipe]["overrides"].append(override))

    def grid(self, **changes: object) -> None:
        """The study's grid with other values, None for a key that is left out."""
        grid = STUDY["runs"][0] | changes
        grid = {key: value for key, value in grid.items() if value is not None}
        self.change("studies/mine", ["runs"], [grid])
        self.change("studies/mine", ["tournament"], None)

    def load(self, *studies: str, **configuration: object) -> Plan:
        own = {"pathvars": {"results": "results"}, "studies": list(studies or ["mine"])}
        return plan.load(own | configuration, self.folder)

    def folders(self, *studies: str, **configuration: object) -> dict[str, str]:
        """Label of a row -> folder of its run, for all rows of the studies."""
        loaded = self.load(*studies, **configuration)
        return {
            row.label: loaded.run(row).folder
            for study in loaded.studies
            for row in loaded.rows(study)
        }

    def problem(self, **configuration: object) -> str:
        """The one-line error of loading."""
        with pytest.raises(UserError) as error:
            self.load(**configuration)
        message = str(error.value)
        assert "\n" not in message
        return message


SEARCH = """
title: A small search
run: {dataset: glyphs, network: convnet3, embedding_dim: 8, method: contrastive, recipe: glyphs,
      split: half4fold, fold: 0, seed: 0}
strategy: random
budget: 3
parameters:
  loss.margin: {low: 0.1, high: 0.5, step: 0.1}
"""


@pytest.fixture
def configured(tmp_path):
    return Configured(tmp_path)
