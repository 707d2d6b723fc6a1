"""Shared code of backbones with published weights."""

from torch import Tensor, nn

from dmlbench.errors import UserError

# Return annotation of `forward` for a backbone without feature maps: [B, C], `pooling: token`.
Token = Tensor


class Published(nn.Module):
    """A backbone around a published network without its classifier.

    Args:
        body: the network; its parameters are named as in the published files.
        features: channels of what `forward` returns.
        input_channels: must be 3.

    Attributes:
        classifier: prefix of the names in a published file that the body lacks.

    Raises:
        UserError: another number of input channels.
    """

    classifier: tuple[str, ...] = ()

    def __init__(self, body: nn.Module, features: int, input_channels: int):
        super().__init__()
        if input_channels != 3:
            raise UserError(
                f"{type(self).__name__}: takes {input_channels} input channels; allowed: 3 "
                "(mode rgb)"
            )
        self.body = body
        self.features = features

    @staticmethod
    def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """A published file's tensors by the names of `body`: unchanged, except for some files."""
        return weights


def trunk(network: nn.Module, without: tuple[str, ...]) -> nn.Sequential:
    """A network's children as a chain, by their names, without the last ones."""
    children = nn.Sequential()
    for name, child in network.named_children():
        if name not in without:
            children.add_module(name, child)
    return children
