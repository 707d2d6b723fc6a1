"""Psomas's proxy loss, variation 2."""

from torch import Tensor

from dmlbench.losses._geometry import products
from dmlbench.losses.psomas_proxy_1 import PsomasProxy1

VERSION = 2
FORMERLY = {"psomas_proxy_2_absent": {"negatives": "absent"}}


class PsomasProxy2(PsomasProxy1):
    """Proxies softly pull their far positives and push each other as the batch sees them.

    As `psomas_proxy_1`, with the similarity w v of two proxies replaced by
    sum_x (w x)(x v) over the batch. Source: psomas2020 eq. 6.2 (a sum, so it grows with the
    batch), read as in `psomas_proxy_1`. Its alpha and margin are not printed: ProxyAnchor's.

    Args: as in `PsomasProxy1`.
    """

    def compared(self, w: Tensor, x: Tensor) -> Tensor:
        """The products of the proxies w [C, D] with the batch x [B, D]: [C, B]."""
        return products(w, x)
