"""Cars196: one index, whatever the layout, row by row the official list."""

import io

import numpy as np
import pandas
import pytest
from dmlbench.data import _tables
from dmlbench.data.index import SCHEMA
from dmlbench.data.split import split
from dmlbench.errors import UserError
from layout_archives import (
    protocol_list,
    rows_of,
    unpacked,
    write_file,
    write_tar,
    write_zip,
)
from scipy.io import loadmat, savemat

BOX = ["bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2"]
NAMES = ["Zeta", "Ram C/V Cargo Van Minivan 2012", "Alpha"]
SAME = ["label", "class_name", "subset"]


def mat(path, rows, **variables):
    """A .mat with the struct array `annotations`, as the official ones have it."""
    table = np.zeros((1, len(rows)), dtype=[(name, object) for name in rows.columns])
    for name in rows.columns:
        table[name][0] = rows[name].tolist()
    buffer = io.BytesIO()
    savemat(buffer, {"annotations": table, **variables}, do_compression=True)
    return write_file(path, buffer.getvalue())


def cell(names):
    return np.array([names], dtype=object)


@pytest.fixture
def official():
    """Seven cars: two of class 3 share a box with one of class 1, all of them test images."""
    rows = [(1, 0, 5), (1, 0, 9), (1, 1, 7), (2, 0, 5), (3, 1, 7), (3, 1, 7), (2, 1, 8)]
    table = pandas.DataFrame(rows, columns=["class", "test", "bbox_x1"])
    table["relative_im_path"] = [f"car_ims/{number:06d}.jpg" for number in range(1, 8)]
    for name in BOX[1:]:
        table[name] = table["bbox_x1"] + 300
    return table


def renumbered(official, seed=0):
    """The lists of both subsets, in an order of their own: fname from 00001.jpg in each."""
    shuffled = official.sample(frac=1, random_state=seed)
    for subset, test in (("train", 0), ("test", 1)):
        rows = shuffled[shuffled["test"] == test].reset_index(drop=True)
        yield subset, rows.assign(fname=[f"{number:05d}.jpg" for number in rows.index + 1])


def car_ims(folder, official, names):
    images = dict.fromkeys(sorted(official["relative_im_path"]), b"x")
    lists = mat(folder / "cars_annos.mat", official, class_names=cell(names))
    return write_tar(folder / "car_ims.tgz", images), lists


def one_zip(folder, official, names):
    images = {f"cars196/{path}": b"x" for path in sorted(official["relative_im_path"])}
    lists = mat(folder / "annos.mat", official, class_names=cell(names)).read_bytes()
    return (write_zip(folder / "CARS196.zip", images | {"cars196/cars_annos.mat": lists}),)


def train_and_test(folder, official, names):
    paths, devkit = [mat(folder / "cars_annos.mat", official, class_names=cell(names))], {}
    for subset, rows in renumbered(official):
        images = {f"cars_{subset}/{name}": b"x" for name in rows["fname"]}
        paths.append(write_tar(folder / f"cars_{subset}.tgz", images))
        listed = mat(folder / "list.mat", rows[[*BOX, "class", "fname"]])
        if subset == "train":
            devkit["devkit/cars_train_annos.mat"] = listed.read_bytes()
        else:
            unlabeled = mat(folder / "unlabeled.mat", rows[[*BOX, "fname"]])
            devkit["devkit/cars_test_annos.mat"] = unlabeled.read_bytes()
            paths.append(listed.rename(folder / "cars_test_annos_withlabels.mat"))
    return *paths, write_tar(folder / "car_devkit.tgz", devkit)


def class_folders(folder, official, names):
    members = {"names.csv": "\n".join(names)}
    for subset, rows in renumbered(official, seed=1):
        for name, label in zip(rows["fname"], rows["class"], strict=True):
            class_name = names[label - 1].replace("/", "-")
            members[f"car_data/car_data/{subset}/{class_name}/{name}"] = b"x"
        members[f"anno_{subset}.csv"] = rows[["fname", *BOX, "class"]].to_csv(
            header=False, index=False
        )
    lists = mat(folder / "cars_annos.mat", official, class_names=cell(names))
    return write_zip(folder / "by-classes.zip", members), lists


LAYOUTS = [car_ims, one_zip, train_and_test, class_folders]


@pytest.mark.parametrize("write", LAYOUTS)
def test_every_layout_gives_the_rows_of_the_official_list(tmp_path, official, write):
    rows = rows_of("cars196", *write(tmp_path, official, NAMES))
    assert rows["label"].tolist() == [0, 0, 0, 1, 2, 2, 1]
    assert rows["class_name"].tolist() == [NAMES[label] for label in rows["label"]]
    assert rows["subset"].tolist() == ["train", "train", "test", "train", "test", "test", "test"]
    assert not rows.duplicated(["archive", "member"]).any()


def test_folders_by_the_official_numbers_need_no_list(tmp_path, official):
    members = {
        f"cars/{NAMES[label - 1].replace('/', '-')}/{path.split('/')[1]}": b"x"
        for path, label in zip(official["relative_im_path"], official["class"], strict=True)
    }
    rows = rows_of("cars196", write_zip(tmp_path / "a.zip", members))
    assert rows["label"].tolist() == [0, 0, 0, 1, 2, 2, 1]
    assert rows["class_name"].tolist() == [NAMES[label] for label in rows["label"]]
    assert set(rows["subset"]) == {"all"}


def test_what_is_missing_is_named(tmp_path, official):
    paths = train_and_test(tmp_path, official, NAMES)
    with pytest.raises(UserError, match=r"no cars_annos.mat, which orders the images"):
        rows_of("cars196", *(path for path in paths if path.name != "cars_annos.mat"))
    with pytest.raises(UserError, match=r"neither cars_test_annos_withlabels.mat nor anno_test"):
        rows_of("cars196", *(path for path in paths if "withlabels" not in path.name))
    with pytest.raises(UserError, match=r"4 of 7 images of cars_annos.mat are absent"):
        rows_of("cars196", *(path for path in paths if path.name != "cars_test.tgz"))
    with pytest.raises(UserError, match=r"no image of the layout cars196; allowed: 000001.jpg"):
        rows_of("cars196", *(path for path in paths if path.suffix == ".mat"))
    archive, _ = car_ims(tmp_path, official, NAMES)
    other = mat(tmp_path / "cars_annos.mat", official[["class", *BOX]], class_names=cell(NAMES))
    with pytest.raises(UserError, match=r"annotations has no field 'relative_im_path'"):
        rows_of("cars196", archive, other)
    with pytest.raises(UserError, match=r"cars_annos.mat is not a MATLAB file"):
        rows_of("cars196", archive, write_file(other, b"MATLAB, not"))


def test_lists_that_differ_are_refused(tmp_path, official):
    train_and_test(tmp_path, official, NAMES)
    changed = official.assign(bbox_x1=official["bbox_x1"] + (official.index == 2))
    mat(tmp_path / "cars_annos.mat", changed, class_names=cell(NAMES))
    names = ("cars_train.tgz", "cars_test.tgz", "car_devkit.tgz", "cars_annos.mat")
    paths = [tmp_path / name for name in (*names, "cars_test_annos_withlabels.mat")]
    with pytest.raises(UserError, match=r"1 of 7 images of cars_annos.mat are absent, number 3"):
        rows_of("cars196", *paths)


@pytest.fixture(scope="module")
def real(shared):
    """The real official list, rebuilt as a .mat: its annotations and class names."""
    folder = shared / "datasets" / "annotations" / "cars196"
    file = loadmat(folder / "cars_annos_rebuilt.mat", squeeze_me=True)
    listed = file["annotations"]
    rows = pandas.DataFrame({name: listed[name].tolist() for name in listed.dtype.names})
    return folder, rows, file["class_names"].tolist()


@pytest.fixture(scope="module")
def real_rows(real, tmp_path_factory):
    """The index's rows of the real list, in the layout of car_ims."""
    _, official, names = real
    return rows_of("cars196", *car_ims(tmp_path_factory.mktemp("cars"), official, names))


@pytest.mark.slow
def test_every_row_and_both_halves_are_the_real_ones(real, real_rows, tmp_path):
    folder, _, names = real
    listed = pandas.read_csv(
        io.BytesIO(unpacked(folder / "cars_annos.txt.gz")), names=["path", "class", "test"]
    )
    assert len(real_rows) == 16_185
    assert real_rows["label"].nunique() == 196
    assert real_rows["member"].tolist() == listed["path"].tolist()
    assert (real_rows["label"] + 1).tolist() == listed["class"].tolist()
    assert (real_rows["subset"] == "test").tolist() == (listed["test"] == 1).tolist()
    meta = loadmat(io.BytesIO(unpacked(folder / "cars_meta.mat.gz")), squeeze_me=True)
    assert names == meta["class_names"].tolist()
    assert real_rows["class_name"].tolist() == [names[label] for label in real_rows["label"]]

    index = real_rows.assign(image_id=range(16_185), width=1, height=1)
    _tables.write(index.assign(sha256=""), SCHEMA, {}, tmp_path / "index")
    split(tmp_path / "index", "half", tmp_path / "half")
    index = index.merge(pandas.read_parquet(tmp_path / "half"))
    for role, count in (("train", 8_054), ("test", 8_131)):
        half, protocol = index[index["role"] == role], protocol_list(folder, f"cars196_{role}")
        assert len(half) == count
        assert half["member"].tolist() == protocol["path"].tolist()
        assert (half["label"] + 1).tolist() == protocol["class_id"].tolist()


@pytest.mark.slow
def test_the_real_train_and_test_lists_give_the_same_rows(real, real_rows, tmp_path):
    """The devkit's own lists; only the classes of its test list are put in, by the boxes."""
    folder, official, names = real
    train, test = (
        loadmat(io.BytesIO(unpacked(folder / f"cars_{subset}_annos.mat.gz")), squeeze_me=True)
        for subset in ("train", "test")
    )
    test = test["annotations"]
    tests = pandas.DataFrame({name: test[name].tolist() for name in test.dtype.names})
    classes = official[official["test"] == 1]
    assert len(tests) == len(classes) == 8_041
    # 7 boxes belong to two classes: these lists do not say which image is which, and it does not
    # matter.
    turn = [frame.groupby(BOX).cumcount() for frame in (tests, classes)]
    labeled = tests.assign(turn=turn[0]).merge(
        classes.assign(turn=turn[1])[[*BOX, "turn", "class"]], on=[*BOX, "turn"]
    )
    assert len(labeled) == 8_041
    archives = [mat(tmp_path / "cars_annos.mat", official, class_names=cell(names))]
    archives.append(
        mat(tmp_path / "cars_test_annos_withlabels.mat", labeled[[*BOX, "class", "fname"]])
    )
    devkit = {"devkit/cars_train_annos.mat": unpacked(folder / "cars_train_annos.mat.gz")}
    archives.append(write_tar(tmp_path / "car_devkit.tgz", devkit))
    for subset, listed in (("train", train["annotations"]["fname"]), ("test", tests["fname"])):
        images = {f"cars_{subset}/{name}": b"x" for name in listed}
        archives.append(write_tar(tmp_path / f"cars_{subset}.tgz", images))
    rows = rows_of("cars196", *archives)
    pandas.testing.assert_frame_equal(rows[SAME], real_rows[SAME])
    assert not rows.duplicated(["archive", "member"]).any()
    # An image of the devkit's train list has the class of the official list.
    own = dict(zip(train["annotations"]["fname"], train["annotations"]["class"], strict=True))
    trains = rows[rows["subset"] == "train"]
    assert len(trains) == 8_144
    assert (trains["label"] + 1).tolist() == [own[m.split("/")[1]] for m in trains["member"]]


@pytest.mark.slow
def test_real_folders_by_the_official_numbers_give_the_same_rows(real, real_rows, tmp_path):
    _, official, names = real
    members = {
        f"{names[label - 1].replace('/', '-')}/{path.split('/')[1]}": b"x"
        for path, label in zip(official["relative_im_path"], official["class"], strict=True)
    }
    rows = rows_of("cars196", write_zip(tmp_path / "CARS196.zip", members))
    pandas.testing.assert_frame_equal(rows[SAME[:2]], real_rows[SAME[:2]])


@pytest.mark.slow
def test_real_folders_with_csv_lists_give_the_same_rows(real, real_rows, tmp_path):
    _, official, names = real
    rows = rows_of("cars196", *class_folders(tmp_path, official, names))
    pandas.testing.assert_frame_equal(rows[SAME], real_rows[SAME])


def test_classes_in_another_order_are_refused(real, tmp_path):
    _, official, names = real
    order = np.random.default_rng(0).permutation(len(official)) + 1
    members = {
        f"{names[label - 1].replace('/', '-')}/{number:06d}.jpg": b"x"
        for number, label in zip(order, official["class"], strict=True)
    }
    with pytest.raises(UserError, match=r"the first 98 classes have \d+ images; expected 8054"):
        rows_of("cars196", write_zip(tmp_path / "CARS196.zip", members))
