"""A data set's identity: what its images and labels follow from, and the folder that it names."""

from dataclasses import dataclass

from dmlbench.plan.catalogues import Dataset
from dmlbench.plan.contents import contents_digest
from dmlbench.plan.defaults import complete
from dmlbench.plan.naming import digest_of
from dmlbench.plan.versions import data_versions

DIGITS = 8
FOLDER = rf"\w+-[0-9a-f]{{{DIGITS}}}"
"""What a data set's folder looks like, as a regular expression."""


@dataclass(frozen=True)
class Data:
    """A data set as it is kept under `results/data`.

    Attributes:
        name: of the catalogue's entry.
        entry: the catalogue's entry.
        folder: the name with the digest of what index and pixels follow from. An edit of the
            catalogue that changes them gets another folder; the old one stays.
    """

    name: str
    entry: Dataset
    folder: str


def data_of(name: str, entry: Dataset) -> Data:
    """A data set's place; addresses, counts and titles do not change it.

    Raises:
        UserError: a folder of the user's that cannot be read.
    """
    values = {"layout": complete(entry.layout), "versions": data_versions(entry)}
    if entry.folder:
        values["folder"] = contents_digest(entry.folder)
    elif entry.generator:
        values["generator"] = complete(entry.generator)
    else:
        # An alternative holds the same images, so it changes nothing.
        archives = entry.published or entry.archives
        values["archives"] = {name: file.sha256 or file.md5 for name, file in archives.items()}
    return Data(name, entry, f"{name}-{digest_of(values, DIGITS)}")
