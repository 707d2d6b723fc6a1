"""Embeddings and scores from elsewhere, against scikit-learn, SciPy and plain loops."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.errors import UserError
from dmlbench.look_alikes import look_alikes
from dmlbench.matrix_files import read_matrix
from dmlbench.referee.compare import compared
from dmlbench.referee.embeddings import read_labels, suspicions
from dmlbench.referee.score import EVERY, scored
from dmlbench.statistics.equivalence import half_interval
from dmlbench.statistics.other_classes import of_test_classes
from dmlbench.text_table import text_table
from scipy import stats
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors


@pytest.fixture
def made(tmp_path):
    """Two matrices of 12 classes of unequal size, and their labels."""
    generator = np.random.default_rng(3)
    classes = np.repeat(np.arange(12), generator.integers(3, 12, 12))
    centers = generator.normal(size=(12, 16))[classes]
    noise = generator.normal(size=centers.shape)
    more = noise + 0.5 * generator.normal(size=noise.shape)
    np.save(tmp_path / "a.npy", (centers + more).astype("float32"))
    np.save(tmp_path / "b.npy", (centers + noise).astype("float32"))
    lines = [f"image {row},class {each}" for row, each in enumerate(classes)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,label", *lines]))
    return tmp_path, classes


def first_neighbor_is_right(vectors, classes):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    neighbors = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(unit)
    found = neighbors.kneighbors(unit, return_distance=False)
    own = np.arange(len(unit))[:, None]
    return np.array(
        [classes[row[row != me][0]] == classes[me] for row, (me,) in zip(found, own, strict=True)]
    )


def cell(table, row, column):
    place = [each.name for each in table.columns].index(column)
    return next(each for each in table.rows if each.label == row).cells[place].value


def test_all_metrics_are_scored_as_scikit_learn_does(made):
    folder, classes = made
    found = scored(folder / "a.npy", folder / "labels.csv")
    assert len(found.table.rows) == len(EVERY) >= 20
    right = first_neighbor_is_right(np.load(folder / "a.npy"), classes)
    assert cell(found.table, "R@1 (%)", "score") == pytest.approx(100 * right.mean())
    low, high = (cell(found.table, "R@1 (%)", end) for end in ("low", "high"))
    assert low < 100 * right.mean() < high
    assert found.warnings == []


def test_the_interval_is_that_of_classes_and_not_of_queries(tmp_path):
    """Queries of one class that are all right or all wrong are one answer each."""
    generator = np.random.default_rng(0)
    classes = np.repeat(np.arange(20), 50)
    centers = np.eye(20)[classes] * np.where(classes % 2, 5, 0)[:, None]
    np.save(tmp_path / "a.npy", centers + 0.1 * generator.normal(size=centers.shape))
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(map(str, classes)))
    table = scored(tmp_path / "a.npy", tmp_path / "labels.csv", metrics=["recall_at_1"]).table
    width = cell(table, "R@1 (%)", "high") - cell(table, "R@1 (%)", "low")
    assert width > 100 * 2 * 1.96 * 0.5 / 1000**0.5 * 3


def test_queries_may_search_a_gallery_and_never_find_themselves(tmp_path):
    vectors = np.array([[1.0, 0], [0.9, 0.1], [0, 1], [1, 0], [0.5, 0.5]])
    np.save(tmp_path / "a.npy", vectors)
    rows = ["x,1,query", "y,1,gallery", "z,2,gallery", "x,1,gallery", "t,3,train"]
    (tmp_path / "labels.csv").write_text("\n".join(["id,label,role", *rows]))
    found = scored(tmp_path / "a.npy", tmp_path / "labels.csv", metrics=["recall_at_1", "mrr"])
    assert cell(found.table, "R@1 (%)", "score") == 100
    assert any("1 of 1 queries are in the gallery themselves" in each for each in found.warnings)
    without_ids = "\n".join(["label,role", *(row.partition(",")[2] for row in rows)])
    (tmp_path / "labels.csv").write_text(without_ids)
    found = scored(tmp_path / "a.npy", tmp_path / "labels.csv", metrics=["recall_at_1"])
    assert any("1 of 1 queries find an exact copy" in each for each in found.warnings)


def test_copies_are_counted_and_left_out(tmp_path):
    """All rows twice: every query finds its copy, whatever the embeddings are worth."""
    generator = np.random.default_rng(1)
    rows, classes = generator.normal(size=(40, 8)), np.repeat(np.arange(10), 4)
    np.save(tmp_path / "a.npy", np.concatenate([rows, 3 * rows]))
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(map(str, [*classes, *classes])))
    found = scored(tmp_path / "a.npy", tmp_path / "labels.csv", metrics=["recall_at_1"])
    assert cell(found.table, "R@1 (%)", "score") == 100
    right = 100 * first_neighbor_is_right(rows, classes).mean()
    assert any("40 of 80 rows are copies" in each for each in found.warnings)
    assert any(f"without copies R@1 is {right:.2f} %" in each for each in found.warnings)


def test_labels_that_look_alike_are_named(made):
    folder, classes = made
    names = ["rose", "Rose "] + [f"class {each}" for each in range(2, 12)]
    (folder / "labels.csv").write_text('label\n"' + '"\n"'.join(names[k] for k in classes) + '"\n')
    labels = read_labels(folder / "labels.csv")
    vectors = read_matrix(folder / "a.npy", len(labels.label))
    # Blanks at the ends are no part of a value of a CSV.
    assert list(suspicions(vectors, labels)) == [
        "labels that look alike are different classes: 'rose', 'Rose'"
    ]


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["café", "cafe\N{COMBINING ACUTE ACCENT}"], 1),
        (["Cat", "cat ", "dog"], 1),
        (["7", "07", "7.0", "70"], 1),
        (["nan", "inf", "1_0", "10", "a b", "ab"], 0),
        (["two  words", "Two words"], 1),
    ],
)
def test_look_alikes(names, groups):
    assert len(look_alikes(names)) == groups


def test_parquet_brings_its_own_labels(made):
    folder, classes = made
    vectors = np.load(folder / "a.npy")
    table = pa.table({"label": [f"{each}" for each in classes], "vector": list(vectors)})
    pq.write_table(table, folder / "a.parquet")
    own = scored(folder / "a.parquet", folder / "a.parquet", metrics=["map_at_r"])
    other = scored(folder / "a.npy", folder / "labels.csv", metrics=["map_at_r"])
    assert own.table.rows == other.table.rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\na\n", "unknown column 'label'"),
        ("label\na\n\nb\n", "2 rows|as many as"),
        ("label,split\na,train\nb,train\n", "has the roles train"),
        ("label,split\na,tset\nb,test\n", "'tset'; did you mean 'test'"),
        ("label,id\na\nb,2\n", "line 2 has 1 values"),
        ("label,id\n,1\nb,2\n", "1 row without a label, row 1"),
        ("", "empty"),
    ],
)
def test_wrong_labels_are_refused_in_one_line(made, text, words):
    folder, _ = made
    (folder / "labels.csv").write_text(text)
    with pytest.raises(UserError, match=words) as error:
        scored(folder / "a.npy", folder / "labels.csv")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["a;b;;\n1;2;;\n", "\ufeffa\tb\n1\t 2\n\n", 'a, b\r\n1, "2"\r\n'])
def test_tables_of_text_are_read_as_spreadsheets_write_them(text):
    plain = text.replace('"', "")
    assert text_table(plain.encode(), "t.csv") == {"a": ["1"], "b": ["2"]}


def test_a_comparison_has_the_difference_of_the_scores_and_its_interval(made):
    folder, classes = made
    found = compared(folder / "a.npy", folder / "b.npy", folder / "labels.csv", margin=30)
    right = [
        first_neighbor_is_right(np.load(folder / f"{name}.npy"), classes).astype(float)
        for name in "ab"
    ]
    difference = 100 * (right[1] - right[0])
    assert cell(found.table, "R@1", "difference") == pytest.approx(difference.mean())
    # The ratio estimator, class by class.
    of_class = [difference[classes == each] for each in range(12)]
    left = np.array([sum(own - difference.mean()) for own in of_class])
    error = left.std(ddof=1) * 12**0.5 / len(difference)
    half = stats.t.ppf(0.975, 11) * error
    low, high = (cell(found.table, "R@1", end) for end in ("low", "high"))
    assert (low, high) == pytest.approx((difference.mean() - half, difference.mean() + half))
    one_sided = [stats.t.sf((30 + sign * difference.mean()) / error, 11) for sign in (1, -1)]
    assert cell(found.table, "R@1", "equivalent") == pytest.approx(max(one_sided))
    seen = cell(found.table, "R@1", "detectable")
    limit = stats.t.ppf(0.975, 11)
    assert stats.nct.sf(limit, 11, seen / error) == pytest.approx(0.8, abs=1e-6)
    assert f"{seen:.1f} could have been seen" in found.sentence
    assert "12 classes" in found.sentence
    assert "equivalent within 30" in found.sentence


def test_the_same_embeddings_do_not_differ(made):
    folder, _ = made
    found = compared(folder / "a.npy", folder / "a.npy", folder / "labels.csv")
    assert "0.0 points of R@1 apart, in each class alike" in found.sentence


def test_the_interval_over_test_classes_holds():
    """Of 400 draws of 25 classes with unequal sizes, 95 % hold the mean of all queries."""
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        sizes = generator.integers(5, 60, 25)
        effects = generator.normal(0.3, 1, 25)
        classes = np.repeat(np.arange(25), sizes)
        values = effects[classes] + generator.normal(size=len(classes))
        found = of_test_classes(values, classes)
        held += abs(found.value - 0.3) <= half_interval(found)
    assert 0.925 <= held / 400 <= 0.975


def test_clusterings_agree_with_scikit_learn(tmp_path):
    """Three far classes: k-means finds them, and NMI is that of equal partitions."""
    classes = np.repeat([0, 1, 2], 10)
    rows = np.eye(3)[classes] + 0.01 * np.random.default_rng(0).normal(size=(30, 3))
    np.save(tmp_path / "a.npy", rows)
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(map(str, classes)))
    table = scored(tmp_path / "a.npy", tmp_path / "labels.csv", metrics=["nmi"]).table
    expected = 100 * normalized_mutual_info_score(classes, classes)
    assert cell(table, "NMI (%)", "score") == pytest.approx(expected)


def test_no_metric_is_forgotten():
    """Every name of the library is scored, those at k for some k."""
    from dmlbench.evaluation import metric_names

    plain = {name for name in metric_names() if "<k>" not in name}
    assert plain <= set(EVERY)
    assert {each.partition("_")[0] for each in set(EVERY) - plain} == {"recall", "precision"}
    assert all(first != other for first, other in itertools.combinations(EVERY, 2))
