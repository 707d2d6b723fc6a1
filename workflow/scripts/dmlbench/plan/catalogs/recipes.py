"""The schema of the catalogues of methods and recipes: how a network is trained."""

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from dmlbench import registry
from dmlbench.errors import UserError, check_known
from dmlbench.plan.catalogs.choices import (
    Identifier,
    Loss,
    MaximizedMetric,
    Miner,
    Model,
    Regularizer,
    Sampler,
    Transform,
)
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.catalogs.variants import Change
from dmlbench.values import Added

HeadInitialization = Literal[
    "kaiming_outputs",
    "kaiming_inputs",
    "torch_default",
    "principal_components",
    "standardized_components",
    "identity",
]
Selection = Literal["best_test_epoch", "best_validation_epoch", "last_epoch"]


class Method(Model):
    """A row of the tables: a loss with its miner and the sampling that it implies.

    Attributes:
        loss: none for a network that is not trained.
        regularizers: what is added to the loss, or changes its input. The reference of `proximity`
            is the weights at the beginning of the epoch.
        sampling: the recipe's sampler that makes the batches.
        set: values merged into its specs, before those of recipes.
    """

    title: str
    year: int | None = None
    loss: Loss | None = None
    miner: Miner | None = None
    regularizers: list[Regularizer] = []
    sampling: Identifier = "random"
    set: dict[str, Any] = {}

    @model_validator(mode="after")
    def _parts_fit(self) -> "Method":
        check_objective(self)
        return self


def check_objective(method) -> None:
    """Raise a ValueError unless loss, miner and regularizers fit each other."""
    if method.loss is None and (method.miner or method.regularizers):
        raise ValueError("has a miner or regularizers but no loss")
    if method.miner is not None:
        taken = registry.annotation("losses", method.loss.name, "forward", "tuples")
        given = registry.annotation("miners", method.miner.name, "__call__", "return")
        if taken is None or given not in taken:
            raise ValueError(
                f"miner {method.miner.name} gives {given}, loss {method.loss.name} takes "
                f"{taken.removesuffix(' | None') if taken else 'no tuples'}"
            )
    names = [regularizer.name for regularizer in method.regularizers]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"regularizer {name} is listed {names.count(name)} times; allowed: 1")
        if registry.annotation("regularizers", name, "__call__", "tuples") and not method.miner:
            raise ValueError(f"regularizer {name} acts on the tuples of a miner, but there is none")


class Optimizer(Model):
    """An optimizer of torch.

    Attributes:
        fused: whether one kernel updates all parameters: faster, and rounded in another way.
    """

    name: Literal["adamw", "adam", "rmsprop", "sgd"]
    learning_rate: PositiveFloat
    weight_decay: NonNegativeFloat = 0.0
    momentum: NonNegativeFloat = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    fused: bool = False

    @model_validator(mode="after")
    def _can_be_fused(self) -> "Optimizer":
        if self.fused and self.name == "rmsprop":
            raise ValueError("rmsprop cannot be fused; allowed: adamw, adam, sgd")
        return self


class StepSchedule(Model):
    """Every `step` epochs the learning rates are multiplied by `gamma`."""

    step: PositiveInt
    gamma: PositiveFloat


class Transforms(Model):
    train: list[Transform] = []
    test: list[Transform] = []


class Memory(Model):
    """A cross-batch memory (Wang et al. 2020): `dmlbench.losses.CrossBatchMemory`.

    Attributes:
        size: number of embeddings of earlier batches with which a batch is compared.
        start: number of first iterations without it.
    """

    size: PositiveInt
    start: NonNegativeInt = 0


class Training(Model):
    """How a network is trained.

    Attributes:
        iterations_per_epoch: None for one pass of the sampler.
        head_initialization: how the embedding layer is drawn: Kaiming's normal distribution over
            its outputs or its inputs with zero bias, or torch's default for linear layers. Or it is
            computed: principal components of the training images' features, or of the standardized
            features of the test images, as musgrave2020's code does. The identity makes the
            embeddings the features themselves.
        hidden_layers: widths of the head's layers before the embedding layer, with ReLU after each.
        head_factor, loss_factor: learning rates of the embedding layer and of the loss's own
            parameters, as multiples of the optimizer's; 0 leaves them as they are.
        loss_learning_rate: absolute rate of the loss's own parameters, instead of `loss_factor`.
        loss_weight_decay: weight decay of the loss's own parameters; none for the optimizer's.
        warmup_epochs: number of first epochs in which only head and loss learn.
        clip_value: largest absolute gradient; none for no clipping.
        frozen_batchnorm: the parts of BatchNorm that do not learn: its running statistics (which
            then normalize), its affine parameters, both or none.
        precision: of the network's computation; bfloat16 by autocast, weights and loss in float32;
            tf32: products and convolutions of float32 with ten bits, on GPUs that have it.
        compile: whether torch.compile compiles the network's training step.
        memory: of a loss over pairs, or over triplets with a miner; none for batches alone.
        gpus: processes that share each batch, one per GPU (or on the CPU).
        evaluate_every: epochs between evaluations; the last epoch is always evaluated.
        evaluation_distance: by which embeddings are ranked and clustered for scores; "cosine"
            normalizes them first, "euclidean" takes them as the network gives them.
        selection: the rule that selects the epoch whose weights are scored.
        selection_metric: what "best" means, the higher the better.
        epoch_metrics: metrics that are also scored in every evaluation, for the history. With
            `best_test_epoch`, each one's best epoch is a score of its own (`own_best_test_epoch`).
        patience: evaluations without improvement after which training stops.
    """

    epochs: NonNegativeInt
    iterations_per_epoch: PositiveInt | None = None
    batch_size: PositiveInt
    optimizer: Optimizer
    schedule: StepSchedule | None = None
    head_initialization: HeadInitialization = "kaiming_outputs"
    hidden_layers: Annotated[list[PositiveInt], Added()] = []
    head_factor: PositiveFloat = 1.0
    loss_factor: NonNegativeFloat = 1.0
    loss_learning_rate: NonNegativeFloat | None = None
    loss_weight_decay: Annotated[NonNegativeFloat | None, Added()] = None
    warmup_epochs: NonNegativeInt = 0
    clip_value: PositiveFloat | None = None
    frozen_batchnorm: Literal["none", "statistics", "affine", "both"] = "none"
    normalize: bool = True
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    compile: bool = False
    memory: Annotated[Memory | None, Added()] = None
    gpus: Annotated[PositiveInt, Added()] = 1
    transforms: Transforms = Transforms()
    evaluate_every: PositiveInt = 1
    evaluation_distance: Annotated[Literal["cosine", "euclidean"], Added()] = "cosine"
    selection: Selection
    selection_metric: MaximizedMetric = "recall_at_1"
    epoch_metrics: Annotated[list[MaximizedMetric], Added()] = []
    patience: PositiveInt | None = None


class Recipe(Training):
    """A training protocol: the same for all methods except for its values for single ones.

    Attributes:
        base: the recipe that it builds on and whose values it inherits. Values of `methods` are
            merged into the base's, overrides follow the base's.
        sampling: the samplers by name; a method names the one that it implies.
        methods: method -> values merged into its spec, such as the loss's hyper-parameters.
        overrides: values that differ for some rows, applied in order.
    """

    title: str
    base: Identifier | None = None
    sampling: dict[Identifier, Sampler] = Field(min_length=1)
    methods: dict[Identifier, dict[str, Any]] = {}
    overrides: list[Change] = []


def built_on_bases(recipes: dict[str, Any]) -> dict[str, Any]:
    """Recipes as written in YAML, each merged into its base.

    Raises:
        UserError: a base is unknown, or builds on the recipe itself.
    """
    return {name: _on_base(name, recipes, ()) for name in recipes}


def _on_base(name: str, recipes: dict[str, Any], above: tuple[str, ...]) -> Any:
    recipe = recipes[name]
    base = recipe.get("base") if isinstance(recipe, dict) else None
    if base is None:
        return recipe
    check_known(f"{name}.base", "recipe", [base], recipes)
    if base in (name, *above):
        raise UserError(f"{name}.base: {base} builds on {name}; allowed: a recipe that does not")
    values = _on_base(base, recipes, (name, *above))
    overrides = [*(values.get("overrides") or []), *(recipe.get("overrides") or [])]
    return merged(values, recipe) | {"overrides": overrides}
