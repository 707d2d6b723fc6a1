"""Archives are read in place: nothing in them is ever written anywhere."""

import io
import os
import stat
import tarfile
import zipfile

import pytest
from dmlbench.data.archives import Archive
from dmlbench.data.download import download
from dmlbench.data.index import index
from dmlbench.errors import UserError
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

OUTSIDE = [
    "../outside.png",
    "a/../../outside.png",
    "/tmp/outside.png",
    "//outside.png",
    "..\\outside.png",
    "a\\..\\..\\outside.png",
    "C:\\outside.png",
    "C:outside.png",
    "..",
]


def picture(width=8, height=8):
    buffer = io.BytesIO()
    Image.new("L", (width, height), 128).save(buffer, "PNG")
    return buffer.getvalue()


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def write_tar(path, members):
    with tarfile.open(path, "w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


WRITERS = pytest.mark.parametrize("write", [write_zip, write_tar])


@WRITERS
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_member_that_leads_out_is_refused_in_one_line(tmp_path, write, name):
    path = write(tmp_path / "bad", [("good/1.png", picture()), (name, picture())])
    with pytest.raises(UserError, match="refused") as error:
        index([path], "class_folders", tmp_path / "out" / "images.parquet")
    assert "\n" not in str(error.value)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad"]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_a_link_or_device_in_a_tar_is_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        info = tarfile.TarInfo("a/1.png")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(UserError, match="is a link or a device"):
        Archive(tmp_path / "bad.tar")


def test_a_link_in_a_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        info = zipfile.ZipInfo("a/1.png")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="is a link"):
        Archive(tmp_path / "bad.zip")


def test_a_link_out_of_a_users_own_folder_is_followed(tmp_path):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "elsewhere.png").write_bytes(picture())
    (tmp_path / "data" / "a" / "1.png").symlink_to(tmp_path / "elsewhere.png")
    with Archive(tmp_path / "data") as archive:
        assert archive.read("a/1.png") == picture()
    # A link to what is not an image is read, and refused.
    (tmp_path / "data" / "a" / "2.png").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match=r"1 damaged image: data: a/2\.png"):
        index([tmp_path / "data"], "class_folders", tmp_path / "out" / "images.parquet")


@pytest.mark.slow
@WRITERS
def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path, write):
    """A bomb: 400 million pixels in half a megabyte."""
    path = write(tmp_path / "bomb", [("a/1.png", picture()), ("b/1.png", picture(20_000, 20_000))])
    with pytest.raises(UserError, match=r"1 damaged image: .*b/1\.png") as error:
        index([path], "class_folders", tmp_path / "out" / "images.parquet")
    assert "\n" not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["bomb"]


@pytest.mark.parametrize("write", [write_zip, write_tar])
@given(
    names=st.lists(
        st.text(st.sampled_from("a./\\:~$;| \n"), min_size=1, max_size=12), max_size=4, unique=True
    )
)
def test_whatever_the_members_names_nothing_is_written(tmp_path_factory, write, names):
    folder = tmp_path_factory.mktemp("names")
    inner = folder / "deep" / "inner"
    inner.mkdir(parents=True)
    path = write(inner / "archive", [("good/1.png", picture()), *((n, picture()) for n in names)])
    before, lines = os.getcwd(), []
    os.chdir(inner)
    try:
        index([path], "class_folders", inner / "images.parquet")
    except UserError as refused:
        lines = str(refused).splitlines()
    finally:
        os.chdir(before)
    assert len(lines) < 2
    written = {file for file in folder.rglob("*") if file.is_file()}
    assert written <= {path, inner / "images.parquet"}


@pytest.mark.parametrize("mirror", ["folder", "file", "with_parents"])
def test_a_mirror_cannot_make_the_download_write_elsewhere(tmp_path, mirror):
    source = tmp_path / "mirror"
    source.mkdir()
    (source / "file.zip").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_bytes(b"content")
    root = {
        "folder": str(source),
        "file": source.as_uri(),
        "with_parents": f"{source}/../mirror",
    }[mirror]
    output = tmp_path / "results" / "raw" / "file.zip"
    download("file.zip", [], None, [root], [], output)
    # A copy, not a link to the target of the mirror's link.
    assert not output.is_symlink()
    assert output.read_bytes() == b"content"
    assert [file for file in (tmp_path / "results").rglob("*") if file.is_file()] == [output]


def test_a_link_at_the_place_of_a_download_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "file.zip").write_bytes(b"content")
    (tmp_path / "precious").write_bytes(b"precious")
    output = tmp_path / "raw" / "file.zip"
    output.parent.mkdir()
    output.symlink_to(tmp_path / "precious")
    download("file.zip", [], None, [str(tmp_path)], [], output)
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert output.read_bytes() == b"content"


@pytest.mark.parametrize("name", ["pics\\a\\0.png", "a\\0.png"])
def test_the_names_of_a_windows_zip_do_not_lead_out(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "windows.zip", "w") as file:
        file.writestr(name, b"")
    with pytest.raises(UserError, match=r"backslashes in its name.* allowed: slashes"):
        Archive(tmp_path / "windows.zip")


@pytest.mark.parametrize("name", ["..\\0.png", "\\0.png", "C:\\0.png"])
def test_a_name_that_leads_out_on_windows_is_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "windows.zip", "w") as file:
        file.writestr(name, b"")
    with pytest.raises(UserError, match="leads out of the archive"):
        Archive(tmp_path / "windows.zip")


def test_a_hard_link_in_a_tar_is_called_one(tmp_path):
    (tmp_path / "0.png").write_bytes(b"")
    (tmp_path / "1.png").hardlink_to(tmp_path / "0.png")
    with tarfile.open(tmp_path / "a.tar", "w") as file:
        for each in ("0.png", "1.png"):
            file.add(tmp_path / each, each)
    with pytest.raises(UserError, match=r"a hard link to .0\.png.; allowed"):
        Archive(tmp_path / "a.tar")
