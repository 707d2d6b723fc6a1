"""Which images of a split are scored, and against which."""

from collections.abc import Collection, Mapping

from dmlbench.data.embeddings import Embedded


def scored(roles: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The scores of a split with these roles, each with the roles of its images.

    Test images search among themselves; queries, if a split has them, search the gallery.

    >>> scored(["gallery", "query", "train", "validation"])
    {'test': ('query', 'gallery'), 'validation': ('validation',)}
    """
    test = ("query", "gallery") if "query" in roles else ("test",)
    named = {"test": test, "validation": ("validation",)}
    return {score: images for score, images in named.items() if set(images) <= set(roles)}


def spaces(embedded: Mapping[str, Embedded]) -> dict[str, dict]:
    """The arguments of `evaluate` for each score (`test`, `validation`) of embedded roles."""
    return {name: _space(*map(embedded.get, roles)) for name, roles in scored(embedded).items()}


def _space(queries: Embedded, gallery: Embedded | None = None) -> dict:
    space = {"embeddings": queries.embeddings, "labels": queries.labels, "ids": queries.image_ids}
    if gallery is None:
        return space
    return space | {
        "gallery": gallery.embeddings,
        "gallery_labels": gallery.labels,
        "gallery_ids": gallery.image_ids,
    }
