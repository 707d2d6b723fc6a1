"""What training steps take on a device."""

from typing import Literal

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from dmlbench.plan.catalogs.choices import Identifier, Model
from dmlbench.plan.specs.spec import Spec


class StepTime(Model):
    """Milliseconds of a training step: `step` whatever its batch, and `image` for each image."""

    step: NonNegativeFloat = 0
    image: NonNegativeFloat


class StepTimes(Model):
    """Steps of a network on images with sides of `pixels`, in the precisions that were timed."""

    pixels: PositiveInt
    float32: StepTime
    tf32: StepTime | None = None
    bfloat16: StepTime | None = None


class HeadTime(Model):
    """Milliseconds to train a head on one image's features.

    Attributes:
        image: of any head.
        dimension: for each dimension of its embedding.
        center: for each center of its loss.
        center_dimension: for each dimension of each center.
    """

    image: NonNegativeFloat
    dimension: PositiveFloat
    center: NonNegativeFloat
    center_dimension: PositiveFloat

    def of(self, dimensions: int, centers: float) -> float:
        """Milliseconds of a head with so many dimensions and centers of its loss."""
        of_center = self.center + self.center_dimension * dimensions
        return self.image + self.dimension * dimensions + of_center * centers


class Device(Model):
    """A GPU, or one core of a CPU, on which steps were timed.

    Attributes:
        title: with its number, such as `one NVIDIA H200`.
        start: seconds of a training before its first step.
        step: milliseconds that a step takes at least, for networks that were not timed.
        flops: operations per second in float32, which those reach.
        faster: how many times faster those train in other precisions.
        head: of all frozen networks; by its operations if not given.
    """

    title: str
    start: PositiveFloat
    step: NonNegativeFloat = 0
    flops: PositiveFloat
    faster: dict[Literal["tf32", "bfloat16"], PositiveFloat] = {}
    head: HeadTime | None = None
    networks: dict[Identifier, StepTimes]

    def timed(self, network: str, spec: Spec, centers: float) -> StepTime | None:
        """What a step of a training took; None if nothing like it was timed.

        Args:
            centers: number of centers of its loss, which count for heads.
        """
        if spec.network.frozen is not None:
            return self.head and StepTime(image=self.head.of(spec.embedding_dim, centers))
        times = self.networks.get(network)
        time = getattr(times, spec.precision, None)
        area = (spec.pixels / times.pixels) ** 2 if times else 1
        return time and StepTime(step=time.step, image=time.image * area)
