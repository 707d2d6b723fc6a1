"""What the files under config/ may say: one model for each kind of entry."""

import re
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    field_validator,
    model_validator,
)

from dmlbench import registry
from dmlbench.evaluation.names import check_metric


def _is_no_fold(name: str) -> str:
    if re.search(r"-fold\d+$", name):
        raise ValueError("reads like a fold of another split; any other ending is allowed")
    return name


# Identifiers become folders, rule names and shell words: nothing else may stand in them.
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
SplitName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_]*(-[a-z0-9_]+)*$"),
    AfterValidator(_is_no_fold),
]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
# Files of weights carry the first digits of their hash in their names; 32 would read like an md5.
Sha256Start = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{8,31}|[0-9a-f]{64})$")]
Folder = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^{}*?<>]+$")]
Selection = Literal["best_test_epoch", "best_validation_epoch", "last_epoch"]


def _checked_metric(name: str) -> str:
    check_metric(name)
    return name


Metric = Annotated[str, BeforeValidator(_checked_metric)]


class Model(BaseModel):
    """A model that refuses unknown keys and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(BaseModel):
    """A method of a room with its hyper-parameters: `{name: proxy_anchor, margin: 0.1}`.

    A method without hyper-parameters may be written as its name alone.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    room: ClassVar[str]
    name: str

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _exists(self) -> "Choice":
        registry.check(self.room, self.name, self.hyperparameters)
        return self

    @property
    def hyperparameters(self) -> dict:
        """Everything but the name."""
        return dict(self.model_extra)


class Loss(Choice):
    room = "losses"


class Miner(Choice):
    room = "miners"


class Sampler(Choice):
    room = "samplers"


class Backbone(Choice):
    room = "networks/backbones"


class Generator(Choice):
    room = "data/generators"


class Layout(Choice):
    room = "data/layouts"


class SplitRule(Choice):
    room = "data/splits"


class Transform(Choice):
    room = "data/transforms"


class TableKind(Choice):
    room = "presentation/tables"


class FigureKind(Choice):
    room = "presentation/figures"


class Archive(Model):
    """A file that is downloaded: where from, and how it is recognised.

    Attributes:
        urls: where it is published, tried in order after the mirrors; none where it is given out
            on request only, so that a mirror must have it.
        sha256, md5: of the published file; the md5 counts where no sha256 is published. Without
            either, the content is checked by what the index must count.
        mirror_sha256: of files that a mirror may hold instead (the same images, zipped again).
    """

    urls: list[str] = []
    bytes: PositiveInt | None = None
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    mirror_sha256: list[Sha256] = []


Archives = dict[FileName, Archive]


class Dataset(Model):
    """A data set: its archives are downloaded, drawn by a generator, or a folder of the user's.

    Attributes:
        alternatives: other archives that hold the same images, by name; `data.alternatives` of
            config.yaml chooses one in the place of `archives`.
        folder: a folder on this machine, or one zip or tar of it.
    """

    title: str
    archives: Archives = {}
    alternatives: dict[Identifier, Archives] = {}
    generator: Generator | None = None
    folder: Folder | None = None
    layout: Layout = Layout(name="class_folders")
    images: PositiveInt | None = None
    classes: PositiveInt | None = None
    splits: dict[SplitName, SplitRule] = Field(min_length=1)
    metrics: list[Metric] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_one_source(self) -> "Dataset":
        if [bool(self.archives), bool(self.generator), bool(self.folder)].count(True) != 1:
            raise ValueError("needs one of archives, generator and folder, and not two")
        if self.alternatives and not self.archives:
            raise ValueError("has alternatives to archives, but no archives")
        return self


Pooling = Literal["average", "maximum", "sum", "token"]


class Weights(Model):
    """Published weights of a backbone: which file, and where from.

    Attributes:
        sha256: of the file, or how it begins (8 to 31 digits).
        urls: where it is published, tried in order after the mirrors; none where only a mirror
            has it.
    """

    file: FileName
    sha256: Sha256Start
    urls: list[str] = []
    bytes: PositiveInt | None = None


class Network(Model):
    """A backbone with its pooling, its weights and the pixels it eats.

    Attributes:
        weights: what training starts from; none for random weights.
        pooling: of the feature maps; `token` for a backbone that returns one vector an image.
        pixels: length of the packed images' shorter side.
        mode: of the packed images.
        channels: the order in which the network takes colours.
        scale: the largest value that it takes; pixel values are in 0..scale.
        mean, std: of its pixel values, a number a channel, in its order and scale.
        threads: CPU threads of a job that runs it.
    """

    title: str
    backbone: Backbone
    weights: Weights | None = None
    pooling: Pooling = "average"
    pixels: PositiveInt
    mode: Literal["gray", "rgb"]
    channels: Literal["rgb", "bgr"] = "rgb"
    scale: PositiveFloat = 1.0
    mean: list[float]
    std: list[PositiveFloat]
    threads: PositiveInt = 4

    @field_validator("mean", "std")
    @classmethod
    def _a_number_a_channel(cls, numbers: list[float], info) -> list[float]:
        channels = {"gray": 1, "rgb": 3}.get(info.data.get("mode"))
        if channels is not None and len(numbers) != channels:
            raise ValueError(f"needs {channels} numbers for mode {info.data['mode']}")
        return numbers

    @model_validator(mode="after")
    def _parts_fit(self) -> "Network":
        check_network(self)
        return self


def check_network(network) -> None:
    """Raise a ValueError unless pooling and channels fit backbone and mode."""
    name = network.backbone.name
    gives_token = registry.annotation("networks/backbones", name, "forward", "return") == "Token"
    if (network.pooling == "token") != gives_token:
        fitting = [kind for kind in get_args(Pooling) if (kind == "token") == gives_token]
        raise ValueError(
            f"pooling {network.pooling} does not fit backbone {name}; allowed: {', '.join(fitting)}"
        )
    if network.channels == "bgr" and network.mode == "gray":
        raise ValueError("channels bgr does not fit mode gray; allowed: rgb")


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


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Names = Annotated[list[Identifier], BeforeValidator(_listed)]
SplitNames = Annotated[list[SplitName], BeforeValidator(_listed)]
Sizes = Annotated[list[PositiveInt], BeforeValidator(_listed)]
Numbers = Annotated[list[NonNegativeInt], BeforeValidator(_listed)]


class Where(Model):
    """Which runs: those whose value is listed, for every key that is given."""

    dataset: Names | None = None
    network: Names | None = None
    embedding_dim: Sizes | None = None
    method: Names | None = None
    recipe: Names | None = None
    split: SplitNames | None = None
    fold: Numbers | None = None
    seed: Numbers | None = None

    def holds(self, run) -> bool:
        """Whether a run is among them."""
        return all(wanted is None or getattr(run, key) in wanted for key, wanted in self)


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


class Grid(Model):
    """Runs: every combination of the listed values."""

    dataset: Names
    network: Names
    embedding_dim: Sizes
    method: Names
    recipe: Names
    split: SplitNames
    fold: Numbers | None = None
    seed: Numbers


class Table(Model):
    title: str
    caption: str = ""
    kind: TableKind
    where: Where = Where()


class Figure(Model):
    title: str
    caption: str = ""
    kind: FigureKind
    where: Where = Where()


class EmbeddingMap(Model):
    """A 2-D view of embeddings with their images, a panel for each run, by method.

    Attributes:
        classes: how many test classes are shown.
    """

    title: str
    caption: str = ""
    where: Where
    classes: PositiveInt = 15


class Tournament(Model):
    """Which methods are ranked, and by what."""

    metric: Metric = "recall_at_1"
    where: Where = Where()


class Study(Model):
    """One study: its runs and the views over their scores.

    Attributes:
        audit: the folder of config/reference whose printed numbers its page checks.
    """

    title: str
    question: str
    description: str
    audit: Identifier | None = None
    runs: list[Grid] = Field(min_length=1)
    tournament: Tournament
    tables: dict[Identifier, Table] = {}
    figures: dict[Identifier, Figure] = {}
    embedding_maps: dict[Identifier, EmbeddingMap] = {}


class Rehearsal(Model):
    """What a rehearsal puts in the place of every data set, network and training setting."""

    generator: Generator
    split: SplitRule
    network: Network
    set: dict[str, Any]


class Data(Model):
    """Where data sets come from.

    Attributes:
        mirrors: folders or base addresses, tried before the published ones.
        alternatives: data set -> which of its catalogue entry's alternatives is used.
    """

    mirrors: list[str] = []
    alternatives: dict[Identifier, Identifier] = {}


class Pathvars(Model):
    """Attributes: results: the folder that everything is written to."""

    results: str


class Configuration(Model):
    """config/config.yaml, with what the command line and the profile change of it."""

    pathvars: Pathvars
    data: Data = Data()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    environment: Literal["cpu", "gpu"] = "cpu"
    studies: list[Identifier] = Field(min_length=1)
    rehearsal: Rehearsal | None = None
