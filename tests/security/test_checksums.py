"""Everything that is fetched is checked: by its published hash, or by its content."""

from pathlib import Path

import pytest
from dmlbench.data.index import index
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.catalogues import Dataset, Network
from dmlbench.plan.catalogs.choices import Identifier
from dmlbench.plan.catalogs.read import read_yaml

CONFIG = Path(__file__).resolve().parents[2] / "config"
DATASETS = read_yaml(CONFIG / "datasets.yaml", dict[Identifier, Dataset])
NETWORKS = read_yaml(CONFIG / "networks.yaml", dict[Identifier, Network])
FETCHED = [
    pytest.param(dataset, archive, id=f"{name}-{file}")
    for name, dataset in DATASETS.items()
    for archives in (dataset.archives, *dataset.alternatives.values())
    for file, archive in archives.items()
]


@pytest.mark.parametrize(("dataset", "archive"), FETCHED)
def test_an_archive_has_a_hash_or_its_content_is_counted(dataset, archive):
    assert archive.sha256 or archive.md5 or (dataset.images and dataset.classes)


@pytest.mark.parametrize("name", [name for name, network in NETWORKS.items() if network.weights])
def test_weights_have_a_hash_and_no_code_in_them_is_run(name):
    weights = NETWORKS[name].weights
    assert len(weights.sha256) >= 8
    assert weights.file.endswith((".safetensors", ".pth", ".pt"))


def test_an_archive_without_a_hash_that_holds_something_else_goes_no_further(tmp_path):
    for number in range(3):
        folder = tmp_path / "archive" / f"class{number}"
        folder.mkdir(parents=True)
        (folder / "1.png").touch()
    output = tmp_path / "images.parquet"
    for numbers in ({"images": 4, "classes": 3}, {"images": 3, "classes": 4}):
        with pytest.raises(UserError, match=r"expected 4 .*, found 3"):
            index([tmp_path / "archive"], "class_folders", output, **numbers)
    assert not output.exists()
