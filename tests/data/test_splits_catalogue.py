"""Every named split of the catalogue: it exists, and its roles are disjoint as required."""

from pathlib import Path

import numpy as np
import pytest
from dmlbench import registry
from dmlbench.plan.catalogs.catalogues import Dataset
from dmlbench.plan.catalogs.read import read_yaml
from test_splits_folds import index_of, written

CONFIG = Path(__file__).resolve().parents[2] / "config"
CATALOGUE = read_yaml(CONFIG / "datasets.yaml", dict[str, Dataset])
LARGE = {"sop"}
NAMED = [
    pytest.param(dataset, name, marks=[pytest.mark.slow] if dataset in LARGE else [])
    for dataset, entry in CATALOGUE.items()
    for name in entry.splits
]
FIXED = {"fixed-70", "fixed-80", "fixed-90", "fixed-95"}
PSOMAS_MUSGRAVE_KARAMAN = {"half", "half4fold", "half10fold", "open-4fold", "closed"} | FIXED
FOLDS = {"half4fold": 4, "half10fold": 10, "open_4fold": 4, "official4fold": 4, "closed": 4}
SUBSETS = {
    "omniglot": ["train"] * 964 + ["test"] * 659,
    "sop": ["train"] * 11_318 + ["test"] * 11_316,
}


def toy_index(dataset, images):
    """A number of images of each class of a data set, in its official subsets."""
    classes = CATALOGUE[dataset].classes
    if dataset in SUBSETS:
        return index_of([images] * classes, SUBSETS[dataset])
    index = index_of([images] * classes)
    if dataset == "inshop":
        searched = np.where(index["image_id"] % 2, "query", "gallery")
        return index.assign(subset=np.where(index["label"] < 3_997, "train", searched))
    return index.assign(subset=np.where(index["image_id"] % 2, "train", "test"))


def test_the_studies_splits_are_there():
    for dataset in ("cub200", "cars196"):
        assert set(CATALOGUE[dataset].splits) == PSOMAS_MUSGRAVE_KARAMAN
    assert {"official", "equal", "half4fold"} <= set(CATALOGUE["sop"].splits)
    assert CATALOGUE["sop"].splits["equal"].name == "half"
    shares = {
        name: CATALOGUE["cub200"].splits[name].hyperparameters["validation"] for name in FIXED
    }
    assert shares == {"fixed-70": 0.3, "fixed-80": 0.2, "fixed-90": 0.1, "fixed-95": 0.05}


@pytest.mark.parametrize(("dataset", "name"), NAMED)
def test_a_named_split_shares_no_class_if_open_and_no_image_at_all(tmp_path, dataset, name):
    rule = CATALOGUE[dataset].splits[name]
    index = toy_index(dataset, images=8 if rule.name == "closed" else 2)
    rows = written(rule.name, index, tmp_path, **rule.hyperparameters).merge(index, on="image_id")
    folds = FOLDS.get(rule.name, 1)
    assert rows["fold"].nunique() == folds
    assert len(rows) == folds * len(index)
    assert not rows.duplicated(["fold", "image_id"]).any()
    # Queries and gallery are one role here: they share their classes but no image.
    role = rows["role"].replace({"query": "test", "gallery": "test"})
    roles_of_a_class = role.groupby([rows["fold"], rows["label"]]).nunique()
    is_open = "closed" not in rule.name
    assert (roles_of_a_class.max() == 1) == is_open
    assert registry.build("data/splits", rule.name, **rule.hyperparameters).open == is_open
    # Test images of one fold train or validate in no fold.
    tests = set(rows.loc[role == "test", "image_id"])
    assert tests.isdisjoint(rows.loc[role != "test", "image_id"])
