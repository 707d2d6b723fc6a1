"""Parts of a variant's name: `miner=D,beta=0.6`."""

from collections.abc import Iterable


def parts(variant: str) -> dict[str, str]:
    """Axis -> value of a variant; a part that is only a name is its own axis."""
    pieces = [piece.partition("=") for piece in variant.split(",") if piece]
    return {axis: value if equals else axis for axis, equals, value in pieces}


def without(variant: str, axes: Iterable[str]) -> str:
    """A variant without the parts of these axes."""
    axes = set(axes)
    return ",".join(piece for piece in variant.split(",") if piece.partition("=")[0] not in axes)
