"""The catalogue's data sets against their published numbers; its archives against their hashes."""

import hashlib
from pathlib import Path

import pandas
import pytest
from dmlbench import plan
from dmlbench.data.download import download
from dmlbench.data.index import index
from dmlbench.data.split import split
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.catalogues import Dataset
from dmlbench.plan.catalogs.read import read_yaml

CONFIG = Path(__file__).resolve().parents[2] / "config"
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["demo"]}
DATA = b"an archive"


@pytest.fixture(scope="module")
def catalogue():
    return read_yaml(CONFIG / "datasets.yaml", dict[str, Dataset])


@pytest.mark.parametrize(
    ("dataset", "images", "classes"),
    [
        ("cub200", 11_788, 200),
        ("cars196", 16_185, 196),
        ("sop", 120_053, 22_634),
        ("inshop", 52_712, 7_982),
        ("fgvc_aircraft", 10_000, 100),
        ("omniglot", 32_460, 1_623),
        ("grocery81", 5_421, 81),
    ],
)
def test_an_index_must_count_what_was_published(catalogue, dataset, images, classes):
    entry = catalogue[dataset]
    assert (entry.images, entry.classes) == (images, classes)
    assert entry.archives


def test_metrics_of_the_studies_printed_tables_are_computed(catalogue, shared):
    tables = [
        pandas.read_csv(file)
        for study in ("psomas2020", "roth2020", "can2019", "karaman2021", "musgrave2020")
        for file in sorted((shared / "reference" / study).glob("table_*.csv"))
    ]
    printed = pandas.concat(tables)[["dataset", "metric"]].drop_duplicates()
    # Precision at 1 is recall at 1; ranks are no scores of a run.
    printed["metric"] = printed["metric"].replace({"precision_at_1": "recall_at_1"})
    printed = printed[~printed["metric"].str.startswith("tournament")]
    for dataset in ("cub200", "cars196", "sop"):
        wanted = set(printed.loc[printed["dataset"] == dataset, "metric"])
        assert wanted <= set(catalogue[dataset].metrics)


def test_grocery81_comes_out_of_a_mirror_with_its_halves(catalogue, shared, tmp_path):
    entry = catalogue["grocery81"]
    (name, archive), *_ = entry.archives.items()
    download(
        name,
        archive.urls,
        archive.sha256,
        [str(shared / "datasets")],
        archive.mirror_sha256,
        tmp_path / name,
        dataset="grocery81",
    )
    index([tmp_path / name], entry.layout.name, tmp_path / "index", entry.images, entry.classes)
    for chosen in entry.splits.values():
        split(tmp_path / "index", chosen.name, tmp_path / chosen.name, **chosen.hyperparameters)


def test_alternatives_of_an_archive_are_chosen_by_the_configuration(catalogue):
    assert set(catalogue["cars196"].alternatives) == {"car_ims", "cars_train_test", "class_folders"}
    chosen = {"data": {"alternatives": {"cars196": "car_ims"}}}
    archives = plan.load(CONFIGURATION | chosen, CONFIG).datasets["cars196"].archives
    assert list(archives) == ["car_ims.tgz", "cars_annos.mat"]
    for alternatives, named in (
        ({"cars": "car_ims"}, "config.yaml: data.alternatives: .*did you mean 'cars196'"),
        ({"cars196": "car_im"}, "data.alternatives.cars196: .*did you mean 'car_ims'"),
        ({"sop": "car_ims"}, "data.alternatives.sop: .*allowed: none"),
    ):
        with pytest.raises(UserError, match=named):
            plan.load(CONFIGURATION | {"data": {"alternatives": alternatives}}, CONFIG)


def fetch(folder, data, **given):
    folder.mkdir(exist_ok=True)
    (folder / "a.zip").write_bytes(data)
    given = {"sha256": None, "mirror_sha256": []} | given
    download("a.zip", [], mirrors=[str(folder)], output=folder / "out" / "a.zip", **given)
    return (folder / "out" / "a.zip").read_bytes()


def test_a_published_md5_is_checked_where_no_sha256_is(tmp_path):
    md5 = hashlib.md5(DATA).hexdigest()
    assert fetch(tmp_path, DATA, md5=md5, bytes=len(DATA)) == DATA
    found = hashlib.md5(b"another").hexdigest()
    with pytest.raises(UserError, match=rf"expected md5 {md5}, found {found} \(7 bytes\)"):
        fetch(tmp_path, b"another", md5=md5)
    with pytest.raises(UserError, match="expected 11 bytes, found 10"):
        fetch(tmp_path, DATA, md5=md5, bytes=11)


def test_an_md5_does_not_replace_a_sha256(tmp_path):
    both = {"md5": hashlib.md5(DATA).hexdigest(), "sha256": hashlib.sha256(DATA).hexdigest()}
    assert fetch(tmp_path, DATA, **both) == DATA
    with pytest.raises(UserError, match="expected sha256"):
        fetch(tmp_path, DATA, **both | {"sha256": "0" * 64})


def test_a_mirror_may_hold_a_file_packed_again_next_to_an_md5(tmp_path):
    again = hashlib.sha256(b"packed again").hexdigest()
    hashes = {"md5": hashlib.md5(DATA).hexdigest(), "mirror_sha256": [again]}
    assert fetch(tmp_path, b"packed again", **hashes, bytes=len(DATA)) == b"packed again"
    assert fetch(tmp_path, DATA, **hashes, bytes=len(DATA)) == DATA
    with pytest.raises(UserError, match=rf"expected md5 .* or sha256 {again}, found"):
        fetch(tmp_path, b"another", **hashes)
