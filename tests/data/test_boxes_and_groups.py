"""Lists that cut images out of photographs, and keep images of one group on one side of a split."""

import io

import numpy as np
import pandas
import pytest
from dmlbench import registry
from dmlbench.data.index import index, read_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.data.splits._classes import halves
from dmlbench.errors import UserError
from hypothesis import given
from hypothesis import strategies as st
from layout_archives import write_folder
from PIL import Image

SCENE = np.random.default_rng(0).integers(0, 256, (12, 20), dtype=np.uint8)
LISTED = {"file": "labels.csv", "box": "box", "group": "scene"}


def encoded(turned=False):
    """The scene as PNG, stored upright or, with a note on it, as seen by a camera on its side."""
    picture, exif, buffer = Image.fromarray(SCENE), Image.Exif(), io.BytesIO()
    if turned:
        picture, exif[0x0112] = picture.transpose(Image.Transpose.ROTATE_90), 6
    picture.save(buffer, "PNG", exif=exif)
    return buffer.getvalue()


def indexed(folder, boxes, **options):
    """The folder and index of the scene, listed once for each box, alternately turned."""
    names = [f"{number}.png" for number in range(len(boxes))]
    rows = {"path": names, "label": names, "box": boxes, "scene": ["a"] + [""] * (len(boxes) - 1)}
    images = {name: encoded(turned=place % 2 == 1) for place, name in enumerate(names)}
    data = pandas.DataFrame(rows).to_csv(index=False).encode()
    source = write_folder(folder / "images", images | {"labels.csv": data})
    index([source], "listed", folder / "index", options=LISTED | options)
    return source, folder / "index"


def test_boxes_of_upright_images_are_packed_and_an_empty_one_is_the_whole(tmp_path):
    boxes = ["2 3 9 8", "[2, 3, 9, 8]", "", "0;0;20.4;12"]
    source, rows = indexed(tmp_path, boxes)
    pack(rows, [source], None, "gray", tmp_path / "pixels.npy", tmp_path / "pixels.parquet")
    packed = pandas.read_parquet(tmp_path / "pixels.parquet")
    flat = np.load(tmp_path / "pixels.npy")
    found = [
        flat[each.offset :][: each.height * each.width].reshape(each.height, each.width)
        for each in packed.itertuples()
    ]
    for image, expected in zip(found, [SCENE[3:8, 2:9]] * 2 + [SCENE] * 2, strict=True):
        assert (image == expected).all()
    assert list(read_index(rows)["group"]) == ["a", "", "", ""]


def test_without_options_an_index_has_no_further_columns(tmp_path):
    _, rows = indexed(tmp_path, ["", ""], box=None, group=None)
    assert list(read_index(rows).columns)[-1] == "sha256"


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ("1 2 3", "box '1 2 3'; allowed: four numbers, left, top, right, bottom"),
        ("0 0 21 5", "0.png: box 0 0 21 5, one of 1 .*; allowed: left < right up to 20, top < "),
        ("5 5 5 9", "box 5 5 5 9"),
        ("-1 0 5 5", "box -1 0 5 5"),
    ],
)
def test_a_box_that_cannot_be_cut_out_is_one_line(tmp_path, box, said):
    with pytest.raises(UserError, match=said) as error:
        indexed(tmp_path, [box, ""])
    assert "\n" not in str(error.value)


def grouped(labels, groups):
    return pandas.DataFrame({"image_id": range(len(labels)), "label": labels, "group": groups})


IMAGES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", *"abcd"])), min_size=1)


@given(IMAGES, st.sampled_from([None, 0, 1]))
def test_halves_separate_no_group_and_are_as_equal_as_before_without_any(images, draw):
    labels, groups = map(list, zip(*images, strict=True))
    rows = grouped(labels, groups)
    first, second = map(set, halves(rows, draw))
    if not second:
        # One connected part: following groups from any class reaches all of them.
        reached = {labels[0]}
        for _ in labels:
            shared = {group for label, group in images if label in reached and group}
            reached |= {label for label, group in images if group in shared}
        assert reached == set(labels)
    assert first | second == set(labels)
    assert not first & second
    for group in set(groups) - {""}:
        sides = {label in first for label, of in images if of == group}
        assert len(sides) == 1
    alone = halves(rows.assign(group=""), draw)
    for half, expected in zip(alone, halves(rows.drop(columns="group"), draw), strict=True):
        assert half.tolist() == expected.tolist()


@given(IMAGES)
def test_a_closed_split_draws_whole_groups(images):
    # A group of a closed split is of one class: another camera or day of the same thing.
    rows = grouped([label for label, _ in images], [f"{a}{b}" if b else "" for a, b in images])
    roles = registry.build("data/splits", "closed")(rows).merge(rows, on="image_id")
    found = roles[roles["group"] != ""].groupby(["fold", "group"])["role"].nunique()
    assert (found == 1).all()


def test_a_split_that_separates_a_group_is_refused(tmp_path):
    names = ["train/1.png", "test/2.png"]
    rows = {"path": names, "label": ["x", "y"], "split": ["train", "test"], "scene": ["a", "a"]}
    data = pandas.DataFrame(rows).to_csv(index=False).encode()
    images = dict.fromkeys(names, encoded())
    source = write_folder(tmp_path / "images", images | {"labels.csv": data})
    options = {"file": "labels.csv", "group": "scene"}
    index([source], "listed", tmp_path / "index", options=options)
    with pytest.raises(UserError, match=r"1 groups of images have .* 'a' is in test and train"):
        split(tmp_path / "index", "official", tmp_path / "split")
