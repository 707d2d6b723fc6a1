"""Would TensorFlow's padding be faster inside the convolution than in front of it?

    python benchmarks/tensorflow_padding.py               # two minutes of one core

Forward and backward of MobileNetV2 on 60 images of 128 pixels, one thread. `in front` is the
pipeline's: as few pixels as the size needs, the odd one at the bottom and on the right, added by a
step of its own. `inside` lets the convolution pad both sides, by kernels that have a row and a
column of zeros more: the same embeddings, to the bit. `symmetric` is another network, without that
padding: what it costs at most. They take turns. Writes
results/benchmarks/tensorflow-padding-<processor>.json and prints a table.
"""

import copy
import statistics
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import torch  # noqa: E402 (the library is on the path only now)
import torch.nn.functional as F  # noqa: E402
from dmlbench.networks.backbones.mobilenet_v2 import MobileNetV2  # noqa: E402
from dmlbench.training.cpu import use_cpu  # noqa: E402
from machine import machine, slug, write_report  # noqa: E402
from torch import Tensor, nn  # noqa: E402

IMAGES, PIXELS, ROUNDS = 60, 128, 9


class PaddedInside(nn.Conv2d):
    """A convolution of stride 2 over maps of even size that pads as TensorFlow does."""

    def forward(self, maps: Tensor) -> Tensor:
        kernels = F.pad(self.weight, (1, 0, 1, 0))
        sides = self.kernel_size[0] // 2
        return F.conv2d(maps, kernels, self.bias, self.stride, sides, groups=self.groups)


def padded_inside(network: nn.Module) -> nn.Module:
    """A copy of the network without steps in front of convolutions."""
    network = copy.deepcopy(network)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d) and layer.stride != (1, 1):
            layer.__class__ = PaddedInside
            layer._forward_pre_hooks.clear()
    return network


def seconds(network: nn.Module, images: Tensor) -> float:
    """CPU time of forward and backward."""
    network.zero_grad()
    start = time.process_time()
    network(images).square().mean().backward()
    return time.process_time() - start


def main() -> None:
    use_cpu(1)
    torch.manual_seed(0)
    front = MobileNetV2(3, padding="tensorflow")
    networks = {"in front": front, "inside": padded_inside(front), "symmetric": MobileNetV2(3)}
    images = torch.randn(IMAGES, 3, PIXELS, PIXELS)
    with torch.inference_mode():
        first, second = (networks[name].eval()(images[:8]) for name in ("in front", "inside"))
    rounds = [
        {name: seconds(network.train(), images) for name, network in networks.items()}
        for _ in range(ROUNDS + 1)
    ]
    medians = {name: statistics.median(each[name] for each in rounds[1:]) for name in networks}
    results = {
        "machine": machine(["torch", "torchvision"]),
        "same_to_the_bit": torch.equal(first, second),
        "seconds": medians,
        "rounds": rounds[1:],
    }
    for name, median in medians.items():
        print(f"{name:12}{median:7.3f} s{median / medians['in front']:7.3f}")
    print(f"inside and in front give the same embeddings: {results['same_to_the_bit']}")
    write_report(
        REPOSITORY / "results" / "benchmarks" / f"tensorflow-padding-{slug()}.json", results
    )


if __name__ == "__main__":
    main()
