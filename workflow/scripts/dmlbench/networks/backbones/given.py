"""No network: features that another program has computed."""

from torch import Tensor, nn

from dmlbench.errors import UserError
from dmlbench.networks.backbones._published import Token


class Given(nn.Module):
    """What the vectors of a data set (layout `vectors`) come from; it is never built.

    Raises:
        UserError: always, as images cannot become such vectors here.
    """

    def __init__(self, input_channels: int):
        raise UserError(
            "network given: its features were computed elsewhere, so it takes no images; allowed: "
            "a run whose network is here"
        )

    def forward(self, images: Tensor) -> Token:
        """Nothing."""
