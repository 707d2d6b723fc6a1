"""Omniglot's two zips: images_background (964 characters) and images_evaluation (659)."""

import posixpath

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._rows import rows
from dmlbench.errors import UserError

IMAGES_ONLY = True

_SUBSETS = {"images_background": "train", "images_evaluation": "test"}


class Omniglot:
    """A class is a character of an alphabet; background characters train, evaluation ones test.

    Members are `<images_background | images_evaluation>/<alphabet>/<character>/<image>.png`.
    Labels number the background characters in alphabetical order, then the evaluation characters.

    Source: Lake, Salakhutdinov and Tenenbaum, Science 350 (2015).

    Raises:
        UserError: an image is in another place.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        images = []
        for archive in archives:
            for member in archive.images():
                parts = posixpath.normpath(member).split("/")
                if len(parts) != 4 or parts[0] not in _SUBSETS:
                    raise UserError(
                        f"{archive.path}: {member!r} does not fit the layout omniglot; allowed: "
                        "<images_background | images_evaluation>/<alphabet>/<character>/<image>"
                    )
                folder, alphabet, character, _ = parts
                images.append((archive.name, member, f"{alphabet}/{character}", _SUBSETS[folder]))
        return rows(images, ["train", "test"])
