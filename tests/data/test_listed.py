"""Images of a list in CSV or Parquet instead of folders."""

import io

import pandas
import pytest
from dmlbench import registry
from dmlbench.data.account import account_of
from dmlbench.data.archives import Archive
from dmlbench.data.index import index, read_index
from dmlbench.data.split import split
from dmlbench.errors import UserError
from dmlbench.plan.specs.contents import read_contents
from layout_archives import pixel, write_folder, write_zip

ROWS = [
    {"path": "a/1.png", "label": "rose", "color": "red"},
    {"path": "b/2.png", "label": "iris", "color": ""},
    {"path": "3.png", "label": "rose", "color": "blue"},
    {"path": "c/4.png", "label": "10", "color": "red"},
]
IMAGES = {row["path"]: pixel() for row in ROWS} | {"5.png": pixel()}


def text_of(rows, separator=","):
    return pandas.DataFrame(rows).to_csv(index=False, sep=separator).encode()


def parquet_of(rows):
    buffer = io.BytesIO()
    pandas.DataFrame(rows).replace("", None).to_parquet(buffer)
    return buffer.getvalue()


def listed(folder, rows=ROWS, file="labels.csv", data=None, **options):
    """The rows of a layout: (member, class, label, subset)."""
    source = write_folder(folder / "images", IMAGES | {file: data or text_of(rows)})
    with Archive(source) as archive:
        found = registry.build("data/layouts", "listed", file=file, **options)([archive])
    return list(
        found[["member", "class_name", "label", "subset"]].itertuples(index=False, name=None)
    )


EXPECTED = [
    ("c/4.png", "10", 0, "all"),
    ("b/2.png", "iris", 1, "all"),
    ("3.png", "rose", 2, "all"),
    ("a/1.png", "rose", 2, "all"),
]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_names_the_class_of_each_image(tmp_path, separator):
    assert listed(tmp_path, data=text_of(ROWS, separator)) == EXPECTED
    with_mark = b"\xef\xbb\xbf" + text_of(ROWS, separator)
    assert listed(tmp_path, data=with_mark) == EXPECTED


@pytest.mark.parametrize(("place", "sign"), [("./", "/"), (".\\", "\\"), ("", "\\")])
def test_a_list_of_another_system_finds_its_images(tmp_path, place, sign):
    rows = [row | {"path": place + row["path"].replace("/", sign)} for row in ROWS]
    assert listed(tmp_path, rows) == EXPECTED


def test_a_parquet_file_does_as_well(tmp_path):
    assert listed(tmp_path, file="list.parquet", data=parquet_of(ROWS)) == EXPECTED


def test_numbers_are_classes(tmp_path):
    rows = [row | {"label": number % 2} for number, row in enumerate(ROWS)]
    found = listed(tmp_path, file="list.parquet", data=parquet_of(rows))
    assert found == listed(tmp_path, rows)
    assert {name for _, name, _, _ in found} == {"0", "1"}


def test_several_columns_are_several_tasks(tmp_path):
    assert listed(tmp_path, label="color") == [
        ("3.png", "blue", 0, "all"),
        ("a/1.png", "red", 1, "all"),
        ("c/4.png", "red", 1, "all"),
    ]


def test_splits_and_roles_are_those_of_the_list(tmp_path):
    splits, roles = ("train", "Val", "test", "test"), ("", "", "query", "gallery")
    rows = [
        row | {"split": split, "role": role}
        for row, split, role in zip(ROWS, splits, roles, strict=True)
    ]
    found = {member: subset for member, _, _, subset in listed(tmp_path, rows)}
    assert found == {
        "a/1.png": "train",
        "b/2.png": "validation",
        "3.png": "query",
        "c/4.png": "gallery",
    }


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (ROWS, {"label": "labels"}, r"unknown column 'labels'; did you mean 'label'\?"),
        (ROWS, {"path": "file"}, "unknown column 'file'"),
        ([*ROWS, ROWS[0]], {}, "1 images are listed again, 'a/1.png' among them"),
        ([*ROWS, ROWS[0] | {"path": "./a/1.png"}], {}, "1 images are listed again, './a/1.png'"),
        ([*ROWS, {"path": "gone.png", "label": "x"}], {}, "1 of 5 images .* absent, 'gone.png'"),
        ([row | {"split": "tset"} for row in ROWS], {}, "4 rows have the split or role 'tset'"),
        (
            [row | {"split": "train" if row["color"] else ""} for row in ROWS],
            {},
            "1 rows have the split or role ''; allowed: train",
        ),
    ],
)
def test_what_a_list_lacks_is_one_line(tmp_path, rows, options, said):
    with pytest.raises(UserError, match=said) as error:
        listed(tmp_path, rows, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "data"), [("labels.csv", b'path,label\n"a'), ("l.parquet", b"no"), ("l.csv", b"\xff")]
)
def test_a_damaged_list_is_one_line(tmp_path, file, data):
    with pytest.raises(UserError, match=r"not CSV|not Parquet|not text in UTF-8") as error:
        listed(tmp_path, file=file, data=data)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "path,label,\na/1.png,x,\nb/2.png,y,\n",
        "path, label\n./a/1.png, x\nb/2.png, y\n",
        "path;label\na/1.png;x\nb/2.png;y \n3.png;  \n",
    ],
    ids=["commas at line ends", "blanks after commas, paths of find", "labels of blanks"],
)
def test_a_list_is_read_as_programs_write_it(tmp_path, text):
    found = {member: name for member, name, *_ in listed(tmp_path, data=text.encode())}
    assert found == {"a/1.png": "x", "b/2.png": "y"}


def test_a_missing_list_is_named(tmp_path):
    with (
        Archive(write_zip(tmp_path / "a.zip", IMAGES)) as archive,
        pytest.raises(UserError, match=r"no labels\.csv, which the layout listed needs"),
    ):
        registry.build("data/layouts", "listed")([archive])


def test_images_that_no_row_lists_are_left_out_and_named(tmp_path):
    source = write_folder(tmp_path / "images", IMAGES | {"labels.csv": text_of(ROWS)})
    options = {"file": "labels.csv", "label": "color"}
    contents = read_contents(str(source), tmp_path / "memory", lists="labels.csv").identity
    index([source], "listed", tmp_path / "index", options=options, contents=contents)
    split(tmp_path / "index", "half", tmp_path / "split")
    assert len(read_index(tmp_path / "index")) == 3
    assert account_of(tmp_path / "index", tmp_path / "split")["Left out"] == (
        "1 not an image (.csv) (labels.csv); 2 not in the layout's list (5.png, b/2.png)"
    )
