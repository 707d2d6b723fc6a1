"""A user's folder is identified by its images: a changed image counts, a touched one does not."""

import hashlib
import json
import os
import shutil
from types import SimpleNamespace

import pytest
from dmlbench.errors import UserError
from dmlbench.files import digest
from dmlbench.plan.graph.inputs import Inputs
from dmlbench.plan.specs import contents
from dmlbench.plan.specs.contents import read_contents
from PIL import Image

CLASSES = ("rose", "tulip")
ENTRY = {"title": "Flowers", "splits": {"half": "half"}, "metrics": ["recall_at_1"]}


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """Where digests are kept between calls."""
    folder = tmp_path / "memory"
    monkeypatch.setattr(contents, "MEMORY", folder)
    monkeypatch.setattr(contents.read_contents, "__defaults__", (folder,))
    # The files of these tests are no older than a tick.
    monkeypatch.setattr(contents, "_TICK", 0)
    return folder


@pytest.fixture
def photos(tmp_path, memory):
    """Two classes of three images."""
    folder = tmp_path / "photos"
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        for number in range(3):
            (folder / name / f"{number}.png").write_bytes(f"{name} {number}".encode())
    return folder


@pytest.fixture
def reads(monkeypatch):
    """The names of the files whose content is read."""
    found = []

    def counted(path):
        found.append(path.name)
        return digest(path)

    monkeypatch.setattr(contents, "digest", counted)
    return found


def change(photos):
    # As many bytes as before.
    (photos / "rose" / "0.png").write_bytes(b"ROSE 0")


def add(photos):
    (photos / "rose" / "3.png").write_bytes(b"rose 3")


def remove(photos):
    (photos / "tulip" / "2.png").unlink()


def rename(photos):
    (photos / "tulip" / "2.png").rename(photos / "tulip" / "two.png")


def move(photos):
    (photos / "tulip" / "2.png").rename(photos / "rose" / "3.png")


def touch(photos):
    os.utime(photos / "rose" / "0.png", (1, 1))


def replace_in_place(photos):
    """Other content of the same size, with the same time of modification."""
    file = photos / "rose" / "0.png"
    status = file.stat()
    file.write_bytes(b"ROSE 0")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def swap(photos):
    """Two images of one size and time change their classes."""
    first, second = photos / "rose" / "0.png", photos / "tulip" / "00.png"
    second.write_bytes(b"tulip0")
    for file in (first, second):
        os.utime(file, (1, 1))
    read_contents(str(photos))
    first.rename(photos / "other")
    second.rename(first)
    (photos / "other").rename(second)


def hide(photos):
    (photos / "rose" / ".thumbnails").write_bytes(b"of no interest")


def leave_other_files(photos):
    for name in ("rose/Thumbs.db", "desktop.ini", "notes.txt", "rose/0.xmp", "labels.csv"):
        (photos / name).write_bytes(b"of no interest")
    (photos / "rose" / "@eaDir" / "0.png").mkdir(parents=True)
    (photos / "rose" / "@eaDir" / "0.png" / "SYNOPHOTO_THUMB_M.jpg").write_bytes(b"small")
    os.mkfifo(photos / "rose" / "fifo.png")
    (photos / "rose" / "zero.png").symlink_to("/dev/zero")
    (photos / "tulip" / "loop").symlink_to(photos)


SAME = (touch, hide, leave_other_files)
EDITS = [change, add, remove, rename, move, replace_in_place, swap, *SAME]


@pytest.mark.parametrize("edit", EDITS)
def test_another_content_is_another_data_set_and_another_run(configured, photos, tmp_path, edit):
    configured.change("datasets", ["flowers"], ENTRY | {"folder": str(photos)})
    configured.grid(dataset="flowers")

    def folders():
        return configured.load().data("flowers").folder, configured.folders()

    kept = shutil.copytree(photos, tmp_path / "kept")
    (data, runs), another = folders(), edit not in SAME
    edit(photos)
    (new_data, new_runs) = folders()
    assert (new_data != data) == another
    assert [new_runs[label] != run for label, run in runs.items()] == [another] * len(runs)
    shutil.rmtree(photos)
    shutil.copytree(kept, photos)
    assert folders() == (data, runs)


def test_only_new_files_are_read_again(photos, memory, reads):
    first = read_contents(str(photos), memory).identity
    assert len(reads) == 6
    assert read_contents(str(photos), memory).identity == first
    assert len(reads) == 6
    change(photos)
    add(photos)
    read_contents(str(photos), memory)
    assert sorted(reads[6:]) == ["0.png", "3.png"]


def test_it_is_the_same_wherever_it_is_and_whatever_is_remembered(photos, memory, tmp_path):
    copy = shutil.copytree(photos, tmp_path / "another place")
    first = read_contents(str(photos), memory).identity
    assert read_contents(str(copy), memory).identity == first
    for file in memory.iterdir():
        file.write_text("{")
    assert read_contents(str(photos), memory).identity == first


def test_where_nothing_can_be_kept_it_is_read_each_time(photos, tmp_path, reads, capsys):
    (tmp_path / "file").touch()
    first = read_contents(str(photos), tmp_path / "file" / "memory").identity
    assert read_contents(str(photos), tmp_path / "file" / "memory").identity == first
    assert len(reads) == 12
    assert "images are read again" in capsys.readouterr().err


def test_an_archive_is_known_by_its_content(photos, memory, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "photos"), "zip", photos)
    first = read_contents(archive, memory).identity
    add(photos)
    assert read_contents(archive, memory).identity == first
    shutil.make_archive(str(tmp_path / "photos"), "zip", photos)
    assert read_contents(archive, memory).identity != first


def test_what_is_not_there_is_one_line(memory, tmp_path):
    with pytest.raises(UserError, match=r"nowhere: No such file.*allowed: a folder or an archive"):
        read_contents(str(tmp_path / "nowhere"), memory)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty: has no images; allowed"):
        read_contents(str(tmp_path / "empty"), memory)


def test_the_identity_of_images_in_folders_is_that_of_earlier_versions(photos, memory):
    """Names and digests of all files, as the first version listed them."""
    listed = [[f"{c}/{n}.png", digest(photos / c / f"{n}.png")] for c in CLASSES for n in range(3)]
    former = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    assert read_contents(str(photos), memory).identity == former


def test_what_earlier_versions_left_out_or_turned_twice_is_another_data_set(photos, memory):
    def named_formerly(*files):
        listed = sorted([[each.relative_to(photos).as_posix(), digest(each)] for each in files])
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]

    shutil.rmtree(photos)
    (photos / "rose").mkdir(parents=True)
    file = photos / "rose" / "0.tif"
    exif = Image.Exif()
    for orientation, same in ((1, True), (6, False)):
        exif[0x0112] = orientation
        Image.new("L", (3, 2)).save(file, exif=exif)
        assert (read_contents(str(photos), memory).identity == named_formerly(file)) is same
    file.unlink()
    file = photos / "rose" / "0.jfif"
    file.write_bytes(b"rose")
    assert read_contents(str(photos), memory).identity != named_formerly(file)


@pytest.mark.parametrize("layout", ["class_folders", "grocery"])
def test_lists_count_where_a_layout_reads_them(configured, photos, layout):
    entry = ENTRY | {"folder": str(photos), "layout": layout}
    (photos / "index.csv").write_text("first")
    configured.change("datasets", ["flowers"], entry)
    first = configured.load().data("flowers").folder
    (photos / "index.csv").write_text("second")
    assert (configured.load().data("flowers").folder == first) is (layout == "class_folders")


@pytest.mark.parametrize("missing", ["folder", "images", "target of a link"])
def test_without_its_disk_a_folder_is_what_it_was(configured, photos, missing, tmp_path):
    if missing == "target of a link":
        (photos / "tulip").rename(tmp_path / "disk")
        (photos / "tulip").symlink_to(tmp_path / "disk")
    configured.change("datasets", ["flowers"], ENTRY | {"folder": str(photos)})
    plan = configured.load()
    first = plan.data("flowers").folder
    assert plan.warnings() == []
    if missing == "folder":
        photos.rename(tmp_path / "unplugged")
    elif missing == "images":
        shutil.rmtree(photos)
        photos.mkdir()
    else:
        (tmp_path / "disk").rename(tmp_path / "unplugged")
    plan = configured.load()
    assert plan.data("flowers").folder == first
    (warning,) = plan.warnings()
    assert warning.startswith("warning: data set flowers: ")
    assert warning.endswith("; what was made of it can be used")


def test_without_its_disk_only_what_needs_the_images_stops(configured, photos, tmp_path):
    results = tmp_path / "results"
    configured.change("datasets", ["flowers"], ENTRY | {"folder": str(photos)})
    data = configured.load().data("flowers").folder
    photos.rename(tmp_path / "unplugged")
    plan = configured.load(pathvars={"results": str(results)})
    inputs = Inputs(SimpleNamespace(plan=plan))
    with pytest.raises(UserError, match=r"set flowers: .*photos.*; its images are needed now"):
        inputs.index(data)
    (results / "data" / data).mkdir(parents=True)
    (results / "data" / data / "images.parquet").touch()
    assert inputs.index(data) == {"archives": [str(photos)]}
    with pytest.raises(UserError, match="its images are needed now"):
        inputs.pack(data, "28", "gray")


def test_an_image_without_a_utf_8_name_is_named(photos, memory):
    with open(os.fsencode(photos / "rose") + b"/caf\xe9.txt", "w"):
        pass
    read_contents(str(photos), memory)
    with open(os.fsencode(photos / "rose") + b"/caf\xe9.png", "w"):
        pass
    with pytest.raises(UserError, match=r"'rose/caf\\xe9\.png' is not UTF-8; rename it"):
        read_contents(str(photos), memory)


def test_a_link_to_nothing_is_named_with_its_target(photos, memory):
    (photos / "rose" / "3.png").symlink_to("gone.png")
    with pytest.raises(
        UserError, match=r"'rose/3\.png' is a link to gone\.png, which is not there"
    ):
        read_contents(str(photos), memory)


def test_a_file_that_may_have_changed_within_a_tick_is_read_again(photos, memory, monkeypatch):
    monkeypatch.setattr(contents, "_TICK", 10**15)
    first = read_contents(str(photos), memory).identity
    seen = contents._seen
    monkeypatch.setattr(contents, "_seen", lambda status: [*seen(status)[:2], 0, 0])
    (photos / "rose" / "0.png").write_bytes(b"ROSE 0")
    assert read_contents(str(photos), memory).identity != first


def test_a_list_of_images_is_a_part_of_the_data_set_and_notes_are_not(configured, photos):
    def folder(**options):
        layout = {"name": "listed"} | options
        configured.change("datasets", ["own"], ENTRY | {"folder": str(photos), "layout": layout})
        return configured.load().data("own").folder

    (photos / "labels.csv").write_text("path,label,color\nrose/0.png,rose,red\n")
    first = folder()
    (photos / "notes.txt").write_text("of no interest")
    assert folder() == first
    assert folder(label="color") != first
    (photos / "labels.csv").write_text("path,label,color\nrose/0.png,tulip,red\n")
    assert folder() != first
