"""The GPU memory of a training, estimated before it starts."""

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from dmlbench.plan.catalogs.choices import Identifier, Model
from dmlbench.plan.specs.spec import Spec

OVERHEAD = 1.5e9
"""Bytes of CUDA's context and of cuDNN's and cuBLAS's workspaces: on an H200 0.76 GB next to what
torch reserves, and up to 0.70 GB of workspaces (results/benchmarks/gpu-nvidia-h200.json)."""

_STATES = {"adamw": 2, "adam": 2, "rmsprop": 1, "sgd": 0}
"""Values that an optimizer keeps for each weight, without momentum."""


class ImageMemory(Model):
    """Millions of bytes for each image of a batch, by the network's precision."""

    float32: PositiveFloat
    bfloat16: PositiveFloat


class NetworkMemory(Model):
    """The memory of a network.

    Attributes:
        pixels: side of the images in the count.
        parameters: in millions.
    """

    pixels: PositiveInt
    parameters: NonNegativeFloat
    image: ImageMemory


class Memory(Model):
    """config/memory.yaml: counted on fake tensors by benchmarks/step_memory.py."""

    networks: dict[Identifier, NetworkMemory]

    def of_training(self, network: str, spec: Spec) -> float | None:
        """Bytes at the peak of a training step; None for a network that was not counted.

        Weights, gradients and the optimizer's state, activations per image times the GPU's share
        of the batch, and `OVERHEAD`. Not counted are the loss, which is small, and the store of
        images, which goes to the GPU only if there is room.
        """
        counted = self.networks.get(network)
        if counted is None or spec.epochs == 0:
            return None
        weights = 1e6 * counted.parameters
        states = _STATES[spec.optimizer.name] + (spec.optimizer.momentum > 0)
        copies = 2 + states + any(part.name == "proximity" for part in spec.regularizers)
        # Autocast keeps a copy of the weights in reduced precision.
        reduced = 2 * weights if spec.precision == "bfloat16" else 0
        area = (spec.pixels / counted.pixels) ** 2
        image = counted.image.bfloat16 if spec.precision == "bfloat16" else counted.image.float32
        images = 1e6 * image * area * spec.batch_size / spec.gpus
        return 4 * weights * copies + reduced + images + OVERHEAD
