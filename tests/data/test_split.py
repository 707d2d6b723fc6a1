"""Splits: who trains and who tests, and what no split may be."""

import pandas
import pyarrow as pa
import pytest
from dmlbench.data import _tables
from dmlbench.data.index import SCHEMA, index
from dmlbench.data.split import split
from dmlbench.errors import UserError
from hypothesis import given, settings
from hypothesis import strategies as st


def write_index(path, labels, subsets=None):
    rows = pandas.DataFrame(
        {
            "image_id": range(len(labels)),
            "archive": "a.zip",
            "member": [f"{number}.png" for number in range(len(labels))],
            "label": labels,
            "class_name": [f"class {label}" for label in labels],
            "subset": subsets or "all",
            "width": 1,
            "height": 1,
        }
    )
    _tables.write(rows.assign(sha256=""), SCHEMA, {}, path)
    return path


def roles_of(path):
    return pandas.read_parquet(path)["role"].tolist()


@settings(deadline=None, max_examples=25)
@given(labels=st.lists(st.integers(0, 12), min_size=2).filter(lambda labels: len(set(labels)) > 1))
def test_half_gives_the_first_half_of_the_classes_to_training(tmp_path_factory, labels):
    folder = tmp_path_factory.mktemp("half")
    split(write_index(folder / "index", labels), "half", folder / "split")
    roles = roles_of(folder / "split")
    train = {label for label, role in zip(labels, roles, strict=True) if role == "train"}
    test = {label for label, role in zip(labels, roles, strict=True) if role == "test"}
    assert train | test == set(labels)
    assert max(train) < min(test)
    assert len(train) - len(test) in (0, 1)


def test_a_split_is_one_row_an_image_with_fold_and_digests(tmp_path):
    path = write_index(tmp_path / "index", [1, 0, 1])
    split(path, "half", tmp_path / "split")
    rows = pandas.read_parquet(tmp_path / "split")
    assert rows.to_dict("list") == {
        "image_id": [0, 1, 2],
        "role": ["test", "train", "test"],
        "fold": [-1, -1, -1],
    }
    schema = pa.parquet.read_schema(tmp_path / "split")
    assert [str(schema.field(name).type) for name in ("image_id", "fold")] == ["int64", "int32"]
    facts = _tables.table_facts(tmp_path / "split")
    assert facts["rule"] == "half"
    assert facts["index_sha256"] == _tables.table_facts(path)["rows_sha256"]


def test_official_follows_the_subsets(tmp_path):
    path = write_index(tmp_path / "index", [0, 1, 2], ["train", "validation", "test"])
    split(path, "official", tmp_path / "split")
    assert roles_of(tmp_path / "split") == ["train", "validation", "test"]


def test_an_empty_role_is_refused(tmp_path):
    path = write_index(tmp_path / "one", [3, 3])
    with pytest.raises(UserError, match=r"half of .*one: no image has the role test"):
        split(path, "half", tmp_path / "split")
    path = write_index(tmp_path / "two", [0, 1], ["test", "test"])
    with pytest.raises(UserError, match="no image has the role train"):
        split(path, "official", tmp_path / "split")
    assert not (tmp_path / "split").exists()


def test_a_class_in_two_roles_is_refused_in_an_open_split(tmp_path):
    path = write_index(tmp_path / "index", [0, 0, 1], ["train", "test", "test"])
    with pytest.raises(UserError, match=r"1 classes .* 'class 0' is in test and train"):
        split(path, "official", tmp_path / "split")


def test_unknown_rules_and_subsets_say_what_is_allowed(tmp_path):
    path = write_index(tmp_path / "index", [0, 1], ["train", "extra"])
    with pytest.raises(UserError, match="'extra'; allowed: train, validation, test"):
        split(path, "official", tmp_path / "split")
    with pytest.raises(UserError, match="did you mean 'half'"):
        split(path, "haf", tmp_path / "split")
    with pytest.raises(UserError, match="allowed: draw"):
        split(path, "half", tmp_path / "split", folds=4)


def test_classes_with_one_image_are_counted_in_a_warning(tmp_path, caplog):
    path = write_index(tmp_path / "index", [0, 0, 1, 2, 3])
    split(path, "half", tmp_path / "split")
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "split half: 2 classes of role test have a single image",
        "split half: 1 classes of role train have a single image",
    ]


@pytest.mark.slow
def test_omniglot_trains_on_964_characters_and_tests_on_659(shared, tmp_path):
    folder = shared / "datasets" / "omniglot"
    zips = [folder / "images_background.zip", folder / "images_evaluation.zip"]
    index(zips, "omniglot", tmp_path / "index")
    split(tmp_path / "index", "official", tmp_path / "split")
    rows = pandas.read_parquet(tmp_path / "split").merge(pandas.read_parquet(tmp_path / "index"))
    assert rows.groupby("role")["label"].nunique().to_dict() == {"train": 964, "test": 659}


def test_grocery_halves_are_41_and_40_classes_and_its_own_split_is_closed(shared, tmp_path):
    index([shared / "datasets/grocery81/grocery81.zip"], "grocery", tmp_path / "index")
    split(tmp_path / "index", "half", tmp_path / "split")
    rows = pandas.read_parquet(tmp_path / "split").merge(pandas.read_parquet(tmp_path / "index"))
    assert rows.groupby("role")["label"].nunique().to_dict() == {"train": 41, "test": 40}
    with pytest.raises(UserError, match="81 classes have more than one role"):
        split(tmp_path / "index", "official", tmp_path / "official")
