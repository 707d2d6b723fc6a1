"""Splits over classes: how many, which, and that no training class is evaluated."""

import itertools

import numpy as np
import pandas
import pytest
from dmlbench import registry
from dmlbench.data import _tables
from dmlbench.data.index import SCHEMA
from dmlbench.data.split import split
from dmlbench.errors import UserError
from hypothesis import given, settings
from hypothesis import strategies as st

OPEN = ["half", "half4fold", "half10fold", "fixed", "open_4fold"]
FOLDS = {"half4fold": 4, "half10fold": 10, "open_4fold": 4, "closed": 4}


def index_of(counts, subsets=None):
    """An index of counts[i] images of class i."""
    labels = np.repeat(np.arange(len(counts)), counts)
    return pandas.DataFrame(
        {
            "image_id": range(len(labels)),
            "archive": "a.zip",
            "member": [f"{number}.png" for number in range(len(labels))],
            "label": labels,
            "class_name": [f"class {label}" for label in labels],
            "subset": "all" if subsets is None else np.array(subsets)[labels],
            "width": 1,
            "height": 1,
        }
    )


def roles_of(rule, index, **hyperparameters):
    """The rule's rows with the labels of the images."""
    rows = registry.build("data/splits", rule, **hyperparameters)(index)
    return rows.merge(index[["image_id", "label"]], on="image_id")


def class_counts(rows):
    """Numbers of training, validation and test classes of each fold."""
    counts = rows.groupby(["fold", "role"])["label"].nunique().unstack(fill_value=0)
    return counts.reindex(columns=["train", "validation", "test"], fill_value=0).values.tolist()


def written(rule, index, folder, **hyperparameters):
    """The split as a file, checked on its way."""
    _tables.write(index.assign(sha256=""), SCHEMA, {}, folder / "index")
    split(folder / "index", rule, folder / rule, **hyperparameters)
    return pandas.read_parquet(folder / rule)


CLASSES = {"cub200": 200, "cars196": 196, "sop": 22_634, "toy": 32}


@pytest.mark.parametrize(
    ("rule", "dataset", "expected"),
    [
        ("half", "cub200", [[100, 0, 100]]),
        ("half", "cars196", [[98, 0, 98]]),
        ("half", "sop", [[11_317, 0, 11_317]]),
        # musgrave2020
        ("half4fold", "cub200", [[75, 25, 100]] * 4),
        ("half4fold", "cars196", [[74, 24, 98]] * 4),
        ("half4fold", "sop", [[8_488, 2_829, 11_317]] * 4),
        # psomas2020
        ("half10fold", "cub200", [[90, 10, 100]] * 10),
        ("half10fold", "cars196", [[88, 10, 98]] * 8 + [[89, 9, 98]] * 2),
        # karaman2021: 3n, n and 4n
        ("open_4fold", "cub200", [[75, 25, 100]] * 4),
        ("open_4fold", "cars196", [[74, 24, 98], [73, 25, 98]] * 2),
        ("open_4fold", "toy", [[12, 4, 16]] * 4),
        ("closed", "cub200", [[200, 200, 200]] * 4),
    ],
)
def test_classes_of_each_fold_are_the_studies(rule, dataset, expected):
    rows = roles_of(rule, index_of([8 if rule == "closed" else 1] * CLASSES[dataset]))
    assert class_counts(rows) == expected


@pytest.mark.parametrize(
    ("validation", "expected"),
    [(0.3, [70, 30, 100]), (0.2, [80, 20, 100]), (0.1, [90, 10, 100]), (0.05, [95, 5, 100])],
)
def test_fixed_keeps_the_share_that_its_name_says(validation, expected):
    assert class_counts(roles_of("fixed", index_of([2] * 200), validation=validation)) == [expected]


@pytest.mark.parametrize("rule", OPEN)
@settings(deadline=None, max_examples=10)
@given(
    counts=st.lists(st.integers(1, 4), min_size=20, max_size=50),
    seed=st.integers(0, 9),
)
def test_an_open_split_shares_no_class(tmp_path_factory, rule, counts, seed):
    index = index_of(counts)
    seeded = {"seed": seed} if rule in ("half10fold", "fixed") else {}
    rows = written(rule, index, tmp_path_factory.mktemp(rule), **seeded)
    rows = rows.merge(index, on="image_id")
    folds = FOLDS.get(rule, 1)
    assert sorted(rows["fold"].unique()) == (list(range(folds)) if folds > 1 else [-1])
    assert rows.groupby("fold").size().tolist() == [len(index)] * folds
    assert rows.groupby(["fold", "label"])["role"].nunique().max() == 1
    # The test classes are the same everywhere: the second half.
    tests = set(rows.loc[rows["role"] == "test", "label"])
    assert tests == set(range((len(counts) + 1) // 2, len(counts)))
    assert (rows[rows["label"].isin(tests)]["role"] == "test").all()


@pytest.mark.parametrize("rule", ["half4fold", "half10fold", "open_4fold"])
@pytest.mark.parametrize("classes", [196, 200, 81])
def test_a_class_validates_once_at_most(rule, classes):
    rows = roles_of(rule, index_of([1] * classes))
    validated = rows[rows["role"] == "validation"].groupby("label").size()
    half = (classes + 1) // 2
    left_over = half % 4 if rule == "half4fold" else 0
    assert (validated == 1).all()
    assert len(validated) == half - left_over


def test_folds_of_musgrave2020_are_runs_of_classes_in_order():
    rows = roles_of("half4fold", index_of([1] * 196))
    runs = [
        (fold["label"].min(), fold["label"].max())
        for _, fold in rows[rows["role"] == "validation"].groupby("fold")
    ]
    assert runs == [(0, 23), (25, 48), (49, 72), (74, 97)]


def test_official_folds_are_runs_of_the_training_classes_and_test_the_official_ones():
    subsets = ["test", "train"] * 9 + ["train", "test"]
    rows = roles_of("official4fold", index_of([2] * 20, subsets))
    assert class_counts(rows) == [[8, 2, 10]] * 4
    validating = rows[rows["role"] == "validation"].groupby("fold")["label"].unique().map(list)
    assert validating.tolist() == [[1, 3], [7, 9], [11, 13], [17, 18]]
    assert set(rows.loc[rows["role"] == "test", "label"]) == {*range(0, 18, 2), 19}


def test_official_folds_refuse_other_subsets():
    with pytest.raises(UserError, match="subset 'query'; allowed: train, test"):
        roles_of("official4fold", index_of([2] * 3, ["train", "query", "test"]))


@pytest.mark.parametrize("rule", ["half10fold", "fixed", "closed"])
def test_equal_seeds_give_equal_splits_and_others_others(rule):
    index = index_of([8] * 40)
    first, again, other = (roles_of(rule, index, seed=seed) for seed in (1, 1, 2))
    pandas.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_a_smaller_fixed_share_is_part_of_a_larger_one():
    index = index_of([1] * 200)
    shares = [
        set(rows.loc[rows["role"] == "validation", "label"])
        for rows in (roles_of("fixed", index, validation=share) for share in (0.05, 0.1, 0.2, 0.3))
    ]
    assert all(small < large for small, large in itertools.pairwise(shares))


@pytest.mark.parametrize("validation", [0, 1, -0.5])
def test_shares_that_cannot_be_say_what_is_allowed(validation):
    with pytest.raises(UserError, match=r"validation is .*; allowed: (greater than 0|less than 1)"):
        roles_of("fixed", index_of([1] * 20), validation=validation)
    with pytest.raises(UserError, match=r"0 of 10 classes; allowed: 1 to 9 classes"):
        roles_of("fixed", index_of([1] * 20), validation=0.01)


@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=8), st.integers(0, 9))
def test_closed_shares_every_class_and_no_image(tmp_path_factory, eighths, seed):
    index = index_of([8 * count for count in eighths])
    rows = written("closed", index, tmp_path_factory.mktemp("closed"), seed=seed)
    rows = rows.merge(index, on="image_id")
    sizes = rows.groupby(["fold", "label", "role"]).size().unstack()
    for role, share in (("train", 3), ("validation", 1), ("test", 4)):
        assert sizes[role].tolist() == [share * count for count in eighths] * 4
    in_roles = rows.groupby("image_id")["role"].agg(list).map(sorted)
    assert set(map(tuple, in_roles)) == {("test",) * 4, ("train",) * 3 + ("validation",)}


def test_closed_validates_in_every_fold_when_classes_are_small(tmp_path):
    rows = written("closed", index_of([4] * 4), tmp_path)
    sizes = rows.groupby(["fold", "role"]).size().unstack()
    assert sizes["validation"].tolist() == [2] * 4
    assert sizes["test"].tolist() == [8] * 4


def test_official_closed_lets_subsets_share_classes(tmp_path):
    index = index_of([2, 2]).assign(subset=["train", "test"] * 2)
    rows = written("official_closed", index, tmp_path)
    assert rows["role"].tolist() == ["train", "test"] * 2
    with pytest.raises(UserError, match="2 classes have more than one role"):
        written("official", index, tmp_path)


def test_queries_and_gallery_are_roles_that_share_their_classes(tmp_path):
    index = index_of([2, 2]).assign(subset=["train", "train", "query", "gallery"])
    rows = written("official", index, tmp_path)
    assert rows["role"].tolist() == ["train", "train", "query", "gallery"]
    shared_with_training = index.assign(subset=["train", "gallery", "query", "gallery"])
    with pytest.raises(UserError, match="'class 0' is in test and train"):
        written("official", shared_with_training, tmp_path)
    without = index.assign(subset=["train", "train", "query", "query"])
    with pytest.raises(UserError, match="no image has the role gallery"):
        written("official", without, tmp_path)


def test_a_fold_without_validation_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no image of fold \d has the role validation"):
        written("half10fold", index_of([1] * 12), tmp_path)


@pytest.mark.slow
def test_sop_official_and_equal_differ_in_one_class(tmp_path):
    counts = [5] * 22_634
    counts[:11_318] = [5] * 11_317 + [59_551 - 5 * 11_317]
    counts[11_318:] = [5] * 11_315 + [60_502 - 5 * 11_315]
    index = index_of(counts, ["train"] * 11_318 + ["test"] * 11_316)
    official = written("official", index, tmp_path).merge(index, on="image_id")
    assert official.groupby("role").size().to_dict() == {"train": 59_551, "test": 60_502}
    assert official.groupby("role")["label"].nunique().to_dict() == {
        "train": 11_318,
        "test": 11_316,
    }
    equal = roles_of("half", index)
    assert equal.groupby("role")["label"].nunique().to_dict() == {"train": 11_317, "test": 11_317}
    moved = set(equal.loc[equal["role"] == "test", "label"]) - set(
        official.loc[official["role"] == "test", "label"]
    )
    assert moved == {11_317}


@given(count=st.integers(16, 60), draw=st.integers(0, 9))
def test_drawn_halves_and_their_folds_test_on_the_same_classes(count, draw):
    index = index_of([2] * count)
    half, folded = roles_of("half", index, draw=draw), roles_of("half4fold", index, draw=draw)
    tested = set(half[half["role"] == "test"]["label"])
    assert len(tested) == count // 2
    assert set(folded[folded["role"] == "test"]["label"]) == tested
    assert tested.isdisjoint(half[half["role"] == "train"]["label"])
    validated = folded[folded["role"] == "validation"]
    assert tested.isdisjoint(validated["label"])
    assert (validated.groupby("label")["fold"].nunique() == 1).all()


@given(count=st.integers(16, 60), draw=st.none() | st.integers(0, 9))
def test_a_half_and_its_swap_test_every_class_once(count, draw):
    index = index_of([2] * count)
    for rule in ("half", "half4fold"):
        tested = []
        for swapped in (False, True):
            rows = roles_of(rule, index, draw=draw, swapped=swapped)
            test = set(rows[rows["role"] == "test"]["label"])
            assert test.isdisjoint(rows[rows["role"] != "test"]["label"])
            tested.append(test)
        assert tested[0] | tested[1] == set(range(count))
        assert not tested[0] & tested[1]


def test_draws_differ_from_each_other_and_from_the_official_halves():
    index = index_of([2] * 40)
    tests = [
        tuple(rows[rows["role"] == "test"]["label"])
        for rows in (roles_of("half", index, draw=draw) for draw in (None, 0, 1, 2, 3))
    ]
    assert len(set(tests)) == 5
    assert set(tests[0]) == set(range(20, 40))
