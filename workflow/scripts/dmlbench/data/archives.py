"""Zip files, tar files, folders and single lists, read in place: nothing is ever unpacked."""

import hashlib
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from PIL import Image

from dmlbench.errors import UserError
from dmlbench.files import digest
from dmlbench.image_folder import is_image, walk, why_left_out

LIST_SUFFIXES = (".csv", ".mat", ".parquet", ".tsv", ".txt")
LARGEST_MEMBER = 2**30
"""The most bytes to read of a member; any real image or list is far smaller."""


class Archive:
    """The files of a zip, a tar (compressed or not) or a folder, by name.

    A list (`LIST_SUFFIXES`) that is published next to the images is an archive of a single member;
    it holds the files that it names as well.

    Attributes:
        name: the archive's file name.
        members: names of all regular files, in the order of the archive (sorted for a folder, and
            without hidden files); reading in this order never seeks backwards.
        left_out: what a folder has besides, and why it is not used.
        links: number of links in a folder.
        in_linked_folders: members of a folder that are reached by a link to another one.

    Raises:
        UserError: the file is missing or is not an archive, or a member of a zip or tar is a link,
            is encrypted, occurs twice or has a name that leads out of the archive.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self.name = self.path.name
        self.left_out: dict[str, str] = {}
        self.links, self.in_linked_folders = 0, set()
        if self.path.is_dir():
            self._reader = _Folder(self.path)
            files, self.left_out, self.in_linked_folders, self.links = walk(self.path)
            self.members = list(files)
            return
        if not self.path.is_file():
            raise UserError(f"{path}: no such archive; allowed: a zip, a tar or a folder")
        elif self.path.suffix in LIST_SUFFIXES:
            self._reader = _List(self.path)
        elif zipfile.is_zipfile(self.path):
            self._reader = _Zip(self.path)
        elif tarfile.is_tarfile(self.path):
            self._reader = _Tar(self.path)
        else:
            raise UserError(f"{path}: neither a zip nor a tar; it may be incomplete")
        self.members = self._reader.members()
        _refuse_unsafe(self.path, self.members)

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_) -> None:
        self._reader.close()

    def held(self, names: Collection[str]) -> list[str]:
        """Those of some names that it holds, in the order in which they are read fastest."""
        if isinstance(self._reader, _List):
            return [name for name in sorted(names) if (self.path.parent / name).is_file()]
        return [member for member in self.members if member in names]

    def images(self) -> list[str]:
        """Members with an image's suffix, without the files that systems leave behind."""
        return [member for member in self.members if is_image(member)]

    def not_used(self) -> dict[str, str]:
        """Name -> why it is not among the images."""
        others = {member: why_left_out(member) for member in self.members}
        return self.left_out | {name: why for name, why in others.items() if why}

    def open(self, member: str) -> IO[bytes]:
        """A member as a binary file. A damaged one raises an error of `DAMAGED`, here or later."""
        return self._reader.open(member)

    def read(self, member: str) -> bytes:
        """All bytes of a member, its checksum verified where the archive has one.

        No more memory is taken than its header claims; a member that claims more than
        `LARGEST_MEMBER`, or holds more than it claims, raises an error of `DAMAGED`.
        """
        size = self._reader.size(member)
        if size > LARGEST_MEMBER:
            raise ValueError(f"claims {size} bytes; allowed: up to {LARGEST_MEMBER}")
        with self.open(member) as file:
            data = file.read(size + 1)
        if len(data) != size:
            raise ValueError(f"is not a file of {size} bytes, as its header claims")
        return data

    def digest(self) -> dict[str, int | str]:
        """Size in bytes and sha256 of the archive; of a folder, of the names and sizes in it."""
        if self.path.is_dir():
            listing = [(member, (self.path / member).stat().st_size) for member in self.members]
            text = "\n".join(f"{member}\t{size}" for member, size in listing)
            total = sum(size for _, size in listing)
            return {"bytes": total, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        return {"bytes": self.path.stat().st_size, "sha256": digest(self.path)}


DAMAGED = (
    OSError,  # Pillow's word for a truncated or unknown image as well
    EOFError,
    SyntaxError,  # Pillow's word for a broken PNG
    ValueError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    Image.DecompressionBombError,
)
"""What reading a damaged member, or decoding the image in it, may raise."""


def open_all(paths: Iterable[Path]) -> Iterator[Archive]:
    """Open archives, refusing two of one name: rows refer to their archive by its file name."""
    names = set()
    for path in map(Path, paths):
        if path.name in names:
            raise UserError(f"{path}: a second archive of this name; rename one of them")
        names.add(path.name)
        yield Archive(path)


class _Zip:
    def __init__(self, path: Path):
        self._path = path
        self._file = zipfile.ZipFile(path)
        self.close = self._file.close
        self.open = self._file.open

    def size(self, member: str) -> int:
        return self._file.getinfo(member).file_size

    def members(self) -> list[str]:
        files = [info for info in self._file.infolist() if not info.is_dir()]
        for info in files:
            if stat.S_ISLNK(info.external_attr >> 16):
                raise _unsafe(self._path, info.filename, "is a link")
            if info.flag_bits & 1:
                raise _unsafe(self._path, info.filename, "is encrypted")
        return [info.filename for info in sorted(files, key=lambda info: info.header_offset)]


class _Tar:
    def __init__(self, path: Path):
        self._path = path
        self._file = tarfile.open(path)  # noqa: SIM115, closed by `close`
        self._infos: dict[str, tarfile.TarInfo] = {}
        self.close = self._file.close

    def members(self) -> list[str]:
        try:
            infos = [info for info in self._file.getmembers() if not info.isdir()]
        except DAMAGED as error:
            raise UserError(f"{self._path}: the tar is damaged or incomplete: {error}") from error
        for info in infos:
            if info.islnk():
                why = (
                    f"is a link or a device: a hard link to {info.linkname!r}; allowed: what tar "
                    "packs with --hard-dereference"
                )
                raise _unsafe(self._path, info.name, why)
            if not info.isfile():
                raise _unsafe(self._path, info.name, "is a link or a device")
        self._infos = {info.name: info for info in infos}
        return [info.name for info in infos]

    def size(self, member: str) -> int:
        return self._infos[member].size

    def open(self, member: str) -> IO[bytes]:
        return self._file.extractfile(self._infos[member])


class _Folder:
    def __init__(self, path: Path):
        self._path = path

    def size(self, member: str) -> int:
        return (self._path / member).stat().st_size

    def open(self, member: str) -> IO[bytes]:
        return open(self._path / member, "rb")

    def close(self) -> None:
        pass


class _List(_Folder):
    """A list that is no archive, with the files next to it."""

    def __init__(self, path: Path):
        super().__init__(path.parent)
        self._name = path.name

    def members(self) -> list[str]:
        return [self._name]


def _refuse_unsafe(archive: Path, members: list[str]) -> None:
    seen = set()
    for member in members:
        pure = PurePosixPath(member.replace("\\", "/"))
        leads_out = not pure.parts or pure.is_absolute() or ".." in pure.parts
        if not leads_out and "\\" in member and ":" not in pure.parts[0]:
            why = "has backslashes in its name, as some programs of Windows write; allowed: slashes"
            raise _unsafe(archive, member, why)
        if leads_out or ":" in pure.parts[0]:
            raise _unsafe(archive, member, "has a name that leads out of the archive")
        if member in seen:
            raise _unsafe(archive, member, "occurs twice")
        seen.add(member)


def _unsafe(archive: Path, member: str, why: str) -> UserError:
    return UserError(f"{archive}: refused, for the member {member!r} {why}")
