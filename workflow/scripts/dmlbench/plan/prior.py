"""What a training takes before any has run: config/costs.yaml, timed elsewhere or assumed."""

from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from dmlbench.plan.choices import Identifier, Model
from dmlbench.plan.spec import Spec


class StepTime(Model):
    """Milliseconds of a training step: `step` whatever its batch, and `image` for each image."""

    step: NonNegativeFloat
    image: NonNegativeFloat


class StepTimes(Model):
    """Steps of a network on images with sides of `pixels`, in the precisions that were timed."""

    pixels: PositiveInt
    float32: StepTime
    tf32: StepTime | None = None
    bfloat16: StepTime | None = None


class Gpu(Model):
    """A GPU on which steps were timed.

    Attributes:
        start: seconds of a training before its first step.
        step: milliseconds that a step takes at least, for networks that were not timed.
        flops: operations per second of a large product in float32.
        share: of `flops`, that networks reach which were not timed.
        faster: how many times faster those train in other precisions.
    """

    title: str
    start: PositiveFloat
    step: PositiveFloat
    flops: PositiveFloat
    share: float = Field(gt=0, le=1)
    faster: dict[Literal["tf32", "bfloat16"], PositiveFloat]
    networks: dict[Identifier, StepTimes]


class Work(Model):
    """Billions of multiply-adds for one image with sides of `pixels`."""

    pixels: PositiveInt
    multiply_adds: PositiveFloat


class Timing(Model):
    """Milliseconds to train on one image with sides of `pixels`, its share of the rest included."""

    pixels: PositiveInt
    milliseconds: PositiveFloat


class HeadTime(Model):
    """Milliseconds to train a head on one image's features: `image`, and for each `dimension`."""

    image: NonNegativeFloat
    dimension: PositiveFloat


class Cpu(Model):
    """Trainings that were timed on one core.

    Attributes:
        start: seconds of a training before its first step.
        flops: operations per second of one core, for networks that were not timed.
        head: of all frozen networks.
    """

    title: str
    start: PositiveFloat
    flops: PositiveFloat
    head: HeadTime
    networks: dict[Identifier, Timing]


class Prior(Model):
    """The whole of config/costs.yaml."""

    gpu: Gpu
    networks: dict[Identifier, Work]
    cpu: Cpu

    def seconds_on_a_core(self, network: str, spec: Spec, images: float) -> float | None:
        """Seconds of a training; None for a network that was not timed."""
        if spec.network.frozen is not None:
            an_image = self.cpu.head.image + self.cpu.head.dimension * spec.embedding_dim
        elif timing := self.cpu.networks.get(network):
            an_image = timing.milliseconds * (spec.pixels / timing.pixels) ** 2
        else:
            return None
        return self.cpu.start + an_image / 1000 * images

    def seconds_on_cores(self, network: str, spec: Spec, images: float, cores: int) -> float | None:
        """Seconds of a training by its operations; None for an unknown network."""
        operations = self._operations(network, spec)
        if operations is None:
            return None
        return self.cpu.start + images * operations / (self.cpu.flops * cores)

    def seconds_on_the_gpu(self, network: str, spec: Spec, images: float) -> float | None:
        """Seconds of a training on the GPU; None for an unknown network."""
        gpu, operations = self.gpu, self._operations(network, spec)
        if operations is None:
            return None
        if time := self._step_time(network, spec.precision):
            area = (spec.pixels / gpu.networks[network].pixels) ** 2
            step, an_image = time.step, time.image * area
        else:
            faster = gpu.faster.get(spec.precision, 1)
            step, an_image = gpu.step, 1000 * operations / (gpu.flops * gpu.share * faster)
        return gpu.start + images * (step / spec.batch_size + an_image) / 1000

    def source_on_the_gpu(self, network: str, precision: str) -> str:
        """Where the seconds of a training on the GPU come from."""
        gpu = self.gpu
        if self._step_time(network, precision):
            return f"as timed on one {gpu.title}"
        source = f"assumed: {gpu.share:.0%} of what large products reach on one {gpu.title}"
        if precision in gpu.faster:
            source += f", {gpu.faster[precision]:g} times as fast in {precision}"
        return source

    def _step_time(self, network: str, precision: str) -> StepTime | None:
        return getattr(self.gpu.networks.get(network), precision, None)

    def _operations(self, network: str, spec: Spec) -> float | None:
        """Operations for an image: forward and backward, which is three times forward."""
        if spec.network.frozen is not None:
            # A head, on as many features as its embedding has dimensions.
            return 3 * 2 * spec.embedding_dim**2
        if network not in self.networks:
            return None
        work = self.networks[network]
        return 3 * 2e9 * work.multiply_adds * (spec.pixels / work.pixels) ** 2
