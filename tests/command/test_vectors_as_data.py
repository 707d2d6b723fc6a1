"""Features of other programs as a data set: what is refused, and what another data set is."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.command.given_features import read_given
from dmlbench.command.new import surveyed
from dmlbench.data.archives import Archive
from dmlbench.data.given import take_vectors
from dmlbench.data.index import index
from dmlbench.errors import UserError
from dmlbench.plan.new_studies.new_study import write_study
from dmlbench.plan.specs.contents import read_contents

ROWS, WIDTH, CLASSES = 48, 3, 8


@pytest.fixture
def made(tmp_path):
    """A matrix and its labels."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(ROWS, WIDTH)))
    write_labels(tmp_path)
    return tmp_path


def write_labels(folder, change=lambda lines: lines):
    lines = ["id,label", *(f"r{row},class {row % CLASSES}" for row in range(ROWS))]
    (folder / "labels.csv").write_text("\n".join(change(lines)))


def taken(folder, change=None):
    """What `dmlbench new x.npy --labels labels.csv` surveys."""
    if change:
        change(folder)
    given = read_given(folder / "x.npy", folder / "labels.csv", {})
    return surveyed(given.folder, "vectors", given.options)


def put(value):
    def change(folder):
        matrix = np.load(folder / "x.npy")
        matrix[5, 1] = value
        np.save(folder / "x.npy", matrix)

    return change


def labels(change):
    return lambda folder: write_labels(folder, change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put(np.nan), r"x\.npy: 1 of 48 rows are not finite: 5"),
        (labels(lambda lines: lines[:-1]), r"x\.npy: 48 rows; allowed: 47, as many as there are l"),
        (labels(lambda lines: ["id,class", *lines[1:]]), "unknown column 'label'"),
        (labels(lambda lines: [*lines[:-1], "r47,"]), "1 row without a label, row 48 among them"),
        (labels(lambda lines: [*lines[:-1], "r0,class 7"]), "1 rows have the id of an earlier one"),
        (
            labels(lambda lines: ["id,label,path", *(f"{each},no.png" for each in lines[1:])]),
            "47 rows have the path of an earlier one, 'no.png'",
        ),
        (
            labels(lambda lines: ["a,label,path", *(f"{n},a,{n}.png" for n in range(ROWS))]),
            r"48 of 48 pictures are absent, '0\.png' among them",
        ),
        (
            labels(lambda lines: ["label,split", *(f"a,{n}" for n in range(ROWS))]),
            "1 rows have the split or role '0'",
        ),
        (lambda folder: (folder / "x.npy").write_bytes(b"no"), r"x\.npy: not an array of numbers"),
        (lambda folder: np.save(folder / "x.npy", np.zeros(ROWS)), r"shape \(48,\); allowed: \[N"),
    ],
)
def test_what_is_no_data_set_is_refused_in_one_line(made, change, said):
    with pytest.raises(UserError, match=said) as error:
        taken(made, change)
    assert "\n" not in str(error.value)


def test_one_class_is_no_study(made, tmp_path):
    pictures, _ = taken(made, labels(lambda lines: ["label", *["one"] * ROWS]))
    config = Path(__file__).resolve().parents[2] / "config"
    with pytest.raises(UserError, match="1 classes train; allowed: 4 or more"):
        write_study(config, tmp_path / "own", "x", "given", pictures, lambda _: WIDTH, frozen=True)
    assert not (tmp_path / "own").exists()


def test_lists_of_two_lengths_are_refused(tmp_path):
    """Of lengths 1 and 3: together they could be two of length 2."""
    pq.write_table(
        pa.table({"label": ["a", "b"], "v": [[1.0], [2.0, 3.0, 4.0]]}), tmp_path / "x.parquet"
    )
    with pytest.raises(UserError, match="v: lists of unequal length"):
        read_given(tmp_path / "x.parquet", None, {})


def test_a_matrix_alone_has_no_labels(made):
    with pytest.raises(UserError, match="has no labels; allowed with --labels"):
        read_given(made / "x.npy", None, {})


def test_rows_that_are_equal_are_counted(made):
    matrix = np.load(made / "x.npy")
    matrix[4] = matrix[0]
    np.save(made / "x.npy", matrix)
    _, account = taken(made)
    assert account["Identical images"].startswith("2 in 1 group, 1 with images on both sides")


def test_list_and_matrix_are_the_identity_and_nothing_next_to_them(made):
    memory = made / "memory"

    def identity():
        return read_contents(str(made / "labels.csv"), memory, lists="x.npy").identity

    before = identity()
    (made / "other.png").write_bytes(b"of no interest")
    assert identity() == before
    put(3.0)(made)
    changed = identity()
    write_labels(made, lambda lines: [*lines[:-1], "r47,class 0"])
    assert len({before, changed, identity()}) == 3


def test_heads_get_the_vectors_of_their_images_and_no_changed_ones(made):
    labels = made / "labels.csv"
    contents = read_contents(str(labels), made / "memory", lists="x.npy").identity
    options = {"file": "x.npy", "label": "label", "path": None}
    asked = {"contents": contents, "options": options}
    index([labels], "vectors", made / "index.parquet", **asked)
    take_vectors(made / "index.parquet", [labels], made / "out.safetensors", **asked)
    from dmlbench.data.features import Features

    rows = pq.read_table(made / "index.parquet").to_pydict()
    assert [f"r{row}" for row in rows["row"]] == rows["member"]
    assert rows["row"] != list(range(ROWS))
    expected = np.load(made / "x.npy").astype("float32")[rows["row"]]
    found = Features(made / "out.safetensors").batch(rows["image_id"]).numpy()
    np.testing.assert_array_equal(found, expected)

    put(3.0)(made)
    for make in (
        lambda: index([labels], "vectors", made / "index.parquet", **asked),
        lambda: take_vectors(made / "index.parquet", [labels], made / "out.safetensors", **asked),
    ):
        with pytest.raises(UserError, match="has changed since this call began"):
            make()


def test_numbers_beyond_32_bits_are_refused(made):
    put(1e300)(made)
    labels = made / "labels.csv"
    contents = read_contents(str(labels), made / "memory", lists="x.npy").identity
    asked = {"contents": contents, "options": {"file": "x.npy", "label": "label", "path": None}}
    index([labels], "vectors", made / "index.parquet", **asked)
    with pytest.raises(UserError, match="as numbers of 32 bits: 1 of 48 rows are not finite"):
        take_vectors(made / "index.parquet", [labels], made / "out.safetensors", **asked)
    assert not (made / "out.safetensors").exists()


def test_pictures_are_held_in_one_order(made):
    for name in ("b.png", "a.png"):
        (made / name).write_bytes(b"x")
    with Archive(made / "labels.csv") as archive:
        assert archive.held({"b.png", "a.png", "c.png"}) == ["a.png", "b.png"]
