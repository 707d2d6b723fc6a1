"""What the catalogues of methods and recipes may say: how a network is trained."""

from typing import Any, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from dmlbench import registry
from dmlbench.plan.choices import Identifier, Loss, Metric, Miner, Model, Sampler, Transform
from dmlbench.plan.studies import Where

Selection = Literal["best_test_epoch", "best_validation_epoch", "last_epoch"]


class Method(Model):
    """A row of the tables: a loss with its miner and the sampling that it implies.

    Attributes:
        loss: none for a network that is not trained.
        sampling: which of the recipe's samplers makes the batches.
    """

    title: str
    year: int | None = None
    loss: Loss | None = None
    miner: Miner | None = None
    sampling: Identifier = "random"

    @model_validator(mode="after")
    def _miner_fits_loss(self) -> "Method":
        if self.miner is None:
            return self
        if self.loss is None:
            raise ValueError("has a miner but no loss")
        taken = registry.annotation("losses", self.loss.name, "forward", "tuples")
        given = registry.annotation("miners", self.miner.name, "__call__", "return")
        if taken is None or given not in taken:
            raise ValueError(
                f"miner {self.miner.name} gives {given}, loss {self.loss.name} takes "
                f"{taken.removesuffix(' | None') if taken else 'no tuples'}"
            )
        return self


class Optimizer(Model):
    name: Literal["adamw", "adam", "rmsprop", "sgd"]
    learning_rate: PositiveFloat
    weight_decay: NonNegativeFloat = 0.0
    momentum: NonNegativeFloat = 0.0
    betas: tuple[float, float] = (0.9, 0.999)


class StepSchedule(Model):
    """Every `step` epochs the learning rates are multiplied by `gamma`."""

    step: PositiveInt
    gamma: PositiveFloat


class Transforms(Model):
    train: list[Transform] = []
    test: list[Transform] = []


class Training(Model):
    """How a network is trained.

    Attributes:
        iterations_per_epoch: none for one pass of the sampler.
        head_factor, loss_factor: learning rates of the embedding layer and of the loss's own
            parameters, as multiples of the optimizer's.
        warmup_epochs: first epochs, in which only head and loss learn.
        clip_value: largest absolute gradient; none for no clipping.
        frozen_batchnorm: what of BatchNorm does not learn: its running statistics (with which it
            then normalises), its affine parameters, both or none.
        evaluate_every: epochs between evaluations; the last epoch is always evaluated.
        selection: which epoch's weights the run's scores are made with.
        selection_metric: what "best" means.
        patience: evaluations without a better score after which training stops.
    """

    epochs: NonNegativeInt
    iterations_per_epoch: PositiveInt | None = None
    batch_size: PositiveInt
    optimizer: Optimizer
    schedule: StepSchedule | None = None
    head_factor: PositiveFloat = 1.0
    loss_factor: PositiveFloat = 1.0
    warmup_epochs: NonNegativeInt = 0
    clip_value: PositiveFloat | None = None
    frozen_batchnorm: Literal["none", "statistics", "affine", "both"] = "none"
    normalize: bool = True
    transforms: Transforms = Transforms()
    evaluate_every: PositiveInt = 1
    selection: Selection
    selection_metric: Metric = "recall_at_1"
    patience: PositiveInt | None = None


class Override(Model):
    """Values of the spec that differ for some runs."""

    where: Where
    set: dict[str, Any]


class Recipe(Training):
    """A protocol of training: the same for all methods but for its overrides.

    Attributes:
        sampling: the samplers by name; a method names the one that it implies.
    """

    title: str
    sampling: dict[Identifier, Sampler] = Field(min_length=1)
    overrides: list[Override] = []
