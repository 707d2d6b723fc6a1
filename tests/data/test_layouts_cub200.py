"""CUB-200-2011: every one of 11,788 rows against the real lists."""

import pandas
import pytest
from dmlbench.data.index import index, read_index
from dmlbench.data.split import split
from dmlbench.errors import UserError
from layout_archives import pixel, protocol_list, rows_of, unpacked, write_tar, write_zip

LISTS = {
    "images.txt": "1 001.A/a_1.jpg\n2 001.A/a_0.jpg\n3 002.B/b_0.jpg\n",
    "image_class_labels.txt": "1 1\n2 1\n3 2\n",
    "train_test_split.txt": "1 0\n2 1\n3 1\n",
}


def archive(path, lists, paths):
    members = {f"CUB_200_2011/{name}": text for name, text in lists.items()}
    members |= {f"CUB_200_2011/images/{path}": b"x" for path in paths}
    return write_zip(path, members)


def test_rows_follow_the_list_and_not_the_names(tmp_path):
    path = archive(tmp_path / "a.zip", LISTS, ["001.A/a_0.jpg", "001.A/a_1.jpg", "002.B/b_0.jpg"])
    assert rows_of("cub200", path).to_dict("list") == {
        "archive": ["a.zip"] * 3,
        "member": [
            "CUB_200_2011/images/001.A/a_1.jpg",
            "CUB_200_2011/images/001.A/a_0.jpg",
            "CUB_200_2011/images/002.B/b_0.jpg",
        ],
        "label": [0, 0, 1],
        "class_name": ["001.A", "001.A", "002.B"],
        "subset": ["test", "train", "train"],
    }


@pytest.mark.parametrize(
    ("lists", "paths", "named"),
    [
        ({"images.txt": LISTS["images.txt"]}, [], "no image_class_labels.txt, which the layout"),
        (LISTS, ["001.A/a_0.jpg", "002.B/b_0.jpg"], r"1 of 3 images .* 'images/001.A/a_1.jpg'"),
        (
            LISTS | {"image_class_labels.txt": "1 1\n"},
            [],
            r"a\.zip: images\.txt and the list of class_id name different images, '2' among",
        ),
        (LISTS | {"image_class_labels.txt": "1\n"}, [], "the line '1' has 1 words; expected 2"),
    ],
)
def test_lists_that_do_not_fit_are_refused(tmp_path, lists, paths, named):
    with pytest.raises(UserError, match=named):
        rows_of("cub200", archive(tmp_path / "a.zip", lists, paths))


@pytest.mark.slow
def test_every_row_and_both_halves_are_the_real_ones(shared, tmp_path):
    folder = shared / "datasets" / "annotations" / "cub200_2011"
    names = ("images", "image_class_labels", "train_test_split", "classes", "bounding_boxes")
    lists = {name: unpacked(folder / f"{name}.txt.gz") for name in names}
    paths = [line.split()[1] for line in lists["images"].decode().splitlines()]
    members = {f"CUB_200_2011/{name}.txt": data for name, data in lists.items()}
    members |= {f"CUB_200_2011/images/{path}": pixel() for path in sorted(paths)}
    archive = write_tar(tmp_path / "CUB_200_2011.tgz", members)

    index([archive], "cub200", tmp_path / "index", images=11_788, classes=200)
    rows = read_index(tmp_path / "index")
    assert rows["member"].tolist() == [f"CUB_200_2011/images/{path}" for path in paths]
    labels = [int(line.split()[1]) for line in lists["image_class_labels"].decode().splitlines()]
    assert (rows["label"] + 1).tolist() == labels
    classes = dict(line.split() for line in lists["classes"].decode().splitlines())
    assert rows["class_name"].tolist() == [classes[str(label)] for label in labels]
    trains = [line.split()[1] for line in lists["train_test_split"].decode().splitlines()]
    assert (rows["subset"] == "train").tolist() == [flag == "1" for flag in trains]

    split(tmp_path / "index", "half", tmp_path / "half")
    rows = rows.merge(pandas.read_parquet(tmp_path / "half"))
    for role, count in (("train", 5_864), ("test", 5_924)):
        half, listed = rows[rows["role"] == role], protocol_list(folder, f"cub200_{role}")
        assert len(half) == count
        found = half["member"].str.removeprefix("CUB_200_2011/")
        assert found.tolist() == listed["path"].tolist()
        assert (half["label"] + 1).tolist() == listed["class_id"].tolist()
