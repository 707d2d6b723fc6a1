"""What backbones share that are any network of another package: errors in one line, tokens."""

import contextlib
from collections.abc import Iterator

from torch import Tensor, nn

from dmlbench.errors import UserError
from dmlbench.networks.backbones._published import Published, Token


class Whole(Published):
    """A package's network with its own pooling.

    Args:
        model: its name in the package.
        body, features, input_channels: as for `Published`.
    """

    def __init__(self, model: str, body: nn.Module, features: int, input_channels: int):
        super().__init__(body, features, input_channels)
        self.model = model

    def forward(self, images: Tensor) -> Token:
        """Pooled features [B, F] of images [B, 3, H, W].

        Raises:
            UserError: images of a size that the network does not take.
        """
        height, width = images.shape[-2:]
        package = type(self).__name__.lower()
        with fitting(f"backbone {package}: {self.model}: images of {height} x {width} pixels"):
            return self.body(images)


@contextlib.contextmanager
def fitting(what: str, allowed: str = "the size that the network was made for") -> Iterator[None]:
    """Turn a package's error about an unfitting value into one line.

    Raises:
        UserError: says what does not fit, the package's reason and what is allowed.
    """
    try:
        yield
    except UserError:
        raise
    except (AssertionError, RuntimeError, TypeError, ValueError, LookupError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(f"{what}: {reason}; allowed: {allowed}") from None


def classifier_of(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Prefixes of a classifier's tensors from its name or names in the package."""
    listed = (names,) if isinstance(names, str) else names or ()
    return tuple(f"{name}." for name in listed)
