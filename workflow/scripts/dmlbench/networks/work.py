"""The multiply-adds of a network, which the plan's estimate of its trainings rests on."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from dmlbench.networks.embedder import Extractor
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.costs.estimates import Work


def work_of(network: Network, size: int) -> Work:
    """Count the multiply-adds for one image with sides of `size` pixels, by computing it once.

    Raises:
        UserError: a model that its package does not know, a size that it does not take.
    """
    extractor = Extractor(network).eval()
    # With gradients: attention without them is one operation whose products are not counted.
    with FlopCounterMode(display=False) as counter:
        extractor(torch.zeros(1, len(network.mean), size, size))
    return Work(pixels=size, multiply_adds=float(f"{counter.get_total_flops() / 2e9:.4g}"))


def as_text(name: str, work: Work) -> str:
    """A costs.yaml of a folder of the user."""
    return (
        f"networks:\n  {name}: {{pixels: {work.pixels}, multiply_adds: {work.multiply_adds:g}}}\n"
    )
