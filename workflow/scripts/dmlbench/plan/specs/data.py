"""A data set's identity, which determines its images and labels and names its folder."""

from dataclasses import dataclass

from dmlbench.image_folder import lists_of
from dmlbench.plan.catalogs.catalogues import Dataset
from dmlbench.plan.catalogs.choices import Choice
from dmlbench.plan.catalogs.identity import identified
from dmlbench.plan.catalogs.naming import complete, digest_of
from dmlbench.plan.specs.contents import read_contents
from dmlbench.plan.specs.versions import data_versions

DIGITS = 8
FOLDER = rf"\w+-[0-9a-f]{{{DIGITS}}}"
"""Regular expression of a data set's folder."""


@dataclass(frozen=True)
class Data:
    """A data set under `results/data`.

    Attributes:
        name: of the catalogue's entry.
        entry: the catalogue's entry.
        folder: the name with the digest of everything that determines index and pixels. If an edit
            of the catalogue changes them, the folder is another one; the old one stays.
        contents: identity of the images in a user's folder; None for other data sets.
        images: their number, as far as it is known before they are indexed.
        absent: why the user's folder cannot be read now, so that its contents are those of an
            earlier call; None if it can.
    """

    name: str
    entry: Dataset
    folder: str
    contents: str | None = None
    images: int | None = None
    absent: str | None = None


def data_of(name: str, entry: Dataset) -> Data:
    """A data set with its folder; addresses, counts and titles do not change it.

    Raises:
        UserError: the user's folder cannot be read, and never was.
    """
    contents = images = absent = None
    values = {"layout": _identified(entry.layout), "versions": data_versions(entry)}
    if entry.folder:
        lists = lists_of(entry.layout.name, complete(entry.layout))
        contents, images, absent = read_contents(entry.folder, lists=lists)
        values["folder"] = contents
    if entry.generator:
        values["generator"] = _identified(entry.generator)
    # An alternative holds the same images, so it changes nothing.
    if archives := entry.published or entry.archives:
        values["archives"] = {name: file.sha256 or file.md5 for name, file in archives.items()}
    if entry.encoding:
        values["reduced_to"] = entry.encoding.reduced_to
    folder = f"{name}-{digest_of(values, DIGITS)}"
    return Data(name, entry, folder, contents, images, absent)


def _identified(choice: Choice) -> dict:
    return identified(choice.package, complete(choice))
