"""Would embedding be faster with BatchNorm folded into the convolutions?

    python benchmarks/folded_batchnorm.py                 # two minutes of one core

Networks in evaluation mode on one thread, with as many images at a time as `training.embedding`
takes; the same networks with each BatchNorm folded into the convolution before it take turns with
them. Folding changes the last digits of embeddings, so that it would have to raise the version of
all trainings. Writes results/benchmarks/folded-batchnorm-<processor>.json and prints a table.
"""

import copy
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import torch  # noqa: E402 (the library is on the path only now)
from dmlbench.networks.backbones.efficientnet_lite0 import EfficientNetLite0  # noqa: E402
from dmlbench.networks.backbones.mobilenet_v2 import MobileNetV2  # noqa: E402
from dmlbench.networks.backbones.resnet50 import ResNet50  # noqa: E402
from dmlbench.training.cpu import use_cpu  # noqa: E402
from dmlbench.training.embedding import _CPU_PIXELS  # noqa: E402
from machine import machine, slug, write_report  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.utils.fusion import fuse_conv_bn_eval  # noqa: E402

CASES = (
    ("MobileNetV2", lambda: MobileNetV2(3, padding="tensorflow"), 128),
    ("EfficientNet-Lite0", lambda: EfficientNetLite0(3), 160),
    ("ResNet-50", lambda: ResNet50(3), 224),
)
ROUNDS = 9


def folded(network: nn.Module) -> nn.Module:
    """A copy of the network in which each BatchNorm after a convolution is part of it."""
    network = copy.deepcopy(network)
    for parent in list(network.modules()):
        for (name, layer), (next_name, following) in pairwise(parent.named_children()):
            if isinstance(layer, nn.Conv2d) and isinstance(following, nn.BatchNorm2d):
                setattr(parent, name, fuse_conv_bn_eval(layer, following))
                setattr(parent, next_name, nn.Identity())
    return network


def with_statistics(network: nn.Module) -> nn.Module:
    """The network in evaluation mode, its BatchNorms with statistics that are not 0 and 1."""
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    return network.eval()


def milliseconds(network: nn.Module, images: torch.Tensor) -> float:
    """CPU time of an image."""
    start = time.process_time()
    network(images)
    return 1000 * (time.process_time() - start) / len(images)


@torch.inference_mode()
def main() -> None:
    use_cpu(1)
    torch.manual_seed(0)
    results = {"machine": machine(["torch", "torchvision"]), "measurements": []}
    print(f"{'network':20} pixels  plain ms  folded ms  ratio  changed by")
    for name, make, pixels in CASES:
        plain = with_statistics(make())
        lean = folded(plain)
        if left := [layer for layer in lean.modules() if isinstance(layer, nn.BatchNorm2d)]:
            raise SystemExit(f"{name}: {len(left)} BatchNorm layers are not after a convolution")
        images = torch.randn(_CPU_PIXELS // pixels**2, 3, pixels, pixels)
        before, after = plain(images), lean(images)
        times = [(milliseconds(plain, images), milliseconds(lean, images)) for _ in range(ROUNDS)]
        row = {
            "network": name,
            "pixels": pixels,
            "images": len(images),
            "plain_ms": statistics.median(first for first, _ in times),
            "folded_ms": statistics.median(second for _, second in times),
            "ratio": statistics.median(first / second for first, second in times),
            "changed_by": ((after - before).abs().max() / before.abs().max()).item(),
        }
        results["measurements"].append(row)
        print(
            f"{name:20}{pixels:7}{row['plain_ms']:10.2f}{row['folded_ms']:11.2f}"
            f"{row['ratio']:7.3f}{row['changed_by']:12.1e}"
        )
    write_report(REPOSITORY / "results" / "benchmarks" / f"folded-batchnorm-{slug()}.json", results)


if __name__ == "__main__":
    main()
