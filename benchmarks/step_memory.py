"""Peak memory of a training step, counted without a GPU and without computing.

    python benchmarks/step_memory.py     # a minute; writes config/memory.yaml

A step (forward, loss, backward, optimizer) runs on fake tensors, which have sizes and no values;
every allocation and release of a storage is counted, including weights, gradients and the
optimizer's state. The peak grows linearly with the batch; the slope is the memory per image.
"""

import argparse
import sys
import weakref
from pathlib import Path

import torch
import yaml
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from dmlbench.files import atomic_write  # noqa: E402
from dmlbench.networks.embedder import Embedder  # noqa: E402
from dmlbench.plan.catalogs.recipes import Optimizer  # noqa: E402
from dmlbench.plan.specs.spec import Spec  # noqa: E402
from dmlbench.training.optimization import build_optimizer  # noqa: E402

PIXELS = {
    "convnet3": 28,
    "convnet4_tiny": 28,
    "convnet4": 28,
    "convnet4_small": 28,
    "convnet4_color": 48,
    "mobilenet_v2": 160,
}
DIM, CLASSES = 512, 100
BATCHES = (16, 32)
PRECISIONS = ("float32", "bfloat16")
HEAD = """\
# GPU memory of a training step: counted on fake tensors by
#   python benchmarks/step_memory.py
#
# pixels      side of the images in the count; an image's memory grows with their area
# parameters  millions, with an embedding layer of 512
# image       MB for each image of a batch, all that waits for the backward pass, by precision
"""


class Live(TorchDispatchMode):
    """Counts the bytes of all live storages that operations make.

    Attributes:
        now, peak: bytes.
    """

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self._known = weakref.WeakSet()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor):
                self.add(leaf)
        return found

    def add(self, tensor: torch.Tensor) -> None:
        """Count a tensor's storage once."""
        storage = tensor.untyped_storage()
        if storage in self._known:
            return
        self._known.add(storage)
        size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, size)

    def _gone(self, size: int) -> None:
        self.now -= size


def spec(network: str, precision: str = "float32", optimizer: str = "adamw") -> Spec:
    """A plain training of a network of the catalogue."""
    catalogue = yaml.safe_load((REPOSITORY / "config/networks.yaml").read_text())
    entry = {"pooling": "average"} | catalogue[network]
    for shown in ("title", "threads", "weights"):
        entry.pop(shown, None)
    return Spec.model_validate(
        {
            "dataset": "none",
            "network": entry,
            "embedding_dim": DIM,
            "loss": "proxy_anchor",
            "miner": None,
            "sampler": "random",
            "split": "half",
            "fold": None,
            "seed": 0,
            "epochs": 1,
            "batch_size": 1,
            "optimizer": {"name": optimizer, "learning_rate": 0.001},
            "precision": precision,
            "selection": "last_epoch",
        }
    )


def steps(
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    images: torch.Tensor,
    count: int = 2,
) -> None:
    """Train on a batch; the second step is the first with gradients and the optimizer's state.

    The loss is the mean of the embeddings: what a loss needs itself, B x B or B x C numbers, is
    small next to the network.
    """
    network.train()
    for _ in range(count):
        loss = network(images).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def counted(network: str, pixels: int, batch: int, precision: str, optimizer: str = "adamw") -> int:
    """Bytes at the peak of a training step."""
    made_of = spec(network, precision, optimizer)
    built = Embedder(made_of)
    with FakeTensorMode(), Live() as live:
        embedder = without_values(built)
        options = Optimizer(name=optimizer, learning_rate=0.001, momentum=0.9)
        images = torch.empty(batch, len(made_of.network.mean), pixels, pixels)
        steps(embedder, build_optimizer(options, [(embedder, 0.001)]), images)
        return live.peak


def without_values(network: torch.nn.Module) -> torch.nn.Module:
    """The network with tensors of the same sizes and layouts, made now."""
    for module in network.modules():
        for name, old in module._parameters.items():
            if old is not None:
                new = torch.empty_strided(old.shape, old.stride())
                module._parameters[name] = torch.nn.Parameter(new)
        for name, old in module._buffers.items():
            if old is not None:
                module._buffers[name] = torch.empty_strided(old.shape, old.stride()).to(old.dtype)
    return network


def parameters(network: str) -> int:
    """Numbers that a network learns."""
    return sum(each.numel() for each in Embedder(spec(network)).parameters())


def table() -> dict[str, dict]:
    """What the plan looks memory up in."""
    found = {}
    networks = yaml.safe_load((REPOSITORY / "config/networks.yaml").read_text())
    for name in (name for name, entry in networks.items() if "frozen" not in entry):
        pixels = PIXELS.get(name, 224)
        image = {}
        for precision in PRECISIONS:
            few, many = (counted(name, pixels, batch, precision) for batch in BATCHES)
            image[precision] = round((many - few) / (BATCHES[1] - BATCHES[0]) / 1e6, 3)
        found[name] = {
            "pixels": pixels,
            "parameters": round(parameters(name) / 1e6, 3),
            "image": image,
        }
        print(name, found[name], flush=True)
    return found


def main() -> None:
    """Count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=REPOSITORY / "config" / "memory.yaml")
    output = parser.parse_args().output
    lines = yaml.safe_dump({"networks": table()}, default_flow_style=None, sort_keys=False)
    with atomic_write(output) as unfinished:
        unfinished.write_text(HEAD + lines)
    print(f"written to {output}")


if __name__ == "__main__":
    main()
