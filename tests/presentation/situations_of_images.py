"""Situations of docs/troubleshooting.md with images, archives and downloads."""

import zipfile
from pathlib import Path

import numpy as np
from dmlbench.data.archives import Archive
from dmlbench.data.download import download
from dmlbench.data.index import index
from dmlbench.data.layouts.class_folders import ClassFolders
from dmlbench.data.pack import pack
from PIL import Image
from situations import Situations

situation = Situations()


@situation("…: no source works")
def _(folder):
    download("a.zip", [], None, [str(folder)], [], folder / "out" / "a.zip")


@situation("expected sha256")
def _(folder):
    (folder / "a.zip").write_text("an error page")
    download("a.zip", [], 64 * "0", [str(folder)], [], folder / "out" / "a.zip")


@situation("…: neither a zip nor a tar")
def _(folder):
    (folder / "a.zip").write_text("half of it")
    Archive(folder / "a.zip")


def pictures(folder: Path, *names: str) -> Path:
    """A folder with a picture at each of these places."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8)).save(folder / name)
    return folder


@situation("expected … images")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    index([made], "class_folders", folder / "images.parquet", images=3, classes=2)


@situation("… damaged image")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    (made / "b" / "1.png").write_bytes(b"no picture")
    index([made], "class_folders", folder / "images.parquet")


@situation("…: has changed since this call began")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    index([made], "class_folders", folder / "images.parquet", contents="another")


@situation("… has changed since it was indexed")
def _(folder):
    made = pictures(folder / "mine", "a/1.png", "b/1.png")
    index([made], "class_folders", folder / "index")
    Image.new("L", (2, 2), 9).save(made / "b" / "1.png")
    pack(folder / "index", [made], None, "gray", folder / "p.npy", folder / "p.parquet")


@situation("…' is a link to")
def _(folder):
    made = pictures(folder / "mine", "a/1.png")
    (made / "a" / "2.png").symlink_to(folder / "gone.png")
    Archive(made)


@situation("no value in the images of 16 bits")
def _(folder):
    made = pictures(folder / "mine", "a/1.png")
    Image.fromarray(np.array([[9, 4095]], dtype=np.uint16)).save(made / "a" / "1.png")
    index([made], "class_folders", folder / "index")
    pack(folder / "index", [made], None, "gray", folder / "p.npy", folder / "p.parquet")


@situation("refused, for")
def _(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("../out.png", b"")
    Archive(folder / "a.zip")


@situation("its folders are")
def _(folder):
    ClassFolders()([Archive(pictures(folder / "mine", "train/a/1.png", "test/a/1.png"))])


@situation("has folders in folders")
def _(folder):
    ClassFolders()([Archive(pictures(folder / "mine", "birds/a/1.png", "cats/1.png"))])
