"""Archives in the official folder layouts: real lists, images of one byte or one pixel."""

import gzip
import io
import tarfile
import zipfile

import pandas
from dmlbench import registry
from dmlbench.data.archives import Archive
from PIL import Image


def pixel():
    """A PNG of one pixel."""
    buffer = io.BytesIO()
    Image.new("L", (1, 1)).save(buffer, "PNG")
    return buffer.getvalue()


def write_zip(path, members):
    """A zip of {name: bytes or text}."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def write_folder(path, members):
    """A folder of {name: bytes}."""
    for name, data in members.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def write_tar(path, members):
    """A gzipped tar of {name: bytes or text}."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def write_file(path, data):
    """A file of bytes or text."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def rows_of(layout, *paths, **options):
    """The rows that a layout finds in archives."""
    archives = [Archive(path) for path in paths]
    try:
        return registry.build("data/layouts", layout, **options)(archives)
    finally:
        for archive in archives:
            archive.__exit__()


def unpacked(path):
    """The bytes of a .gz file."""
    return gzip.decompress(path.read_bytes())


def protocol_list(folder, name):
    """A list of the metric-learning protocol: image_id, class_id, super_class_id and path."""
    return pandas.read_csv(folder / f"{name}.txt.gz", sep=" ")
