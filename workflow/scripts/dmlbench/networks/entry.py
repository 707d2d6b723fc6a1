"""An entry of networks.yaml for a model of timm or torchvision, by what the package knows of it."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dmlbench.errors import UserError, unknown
from dmlbench.files import digest
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.read import as_yaml


class Known(NamedTuple):
    """What a package says of a model.

    Attributes:
        size: side of its images in pixels.
        takes_one_size: whether it takes images of that size only.
        mean, std: of pixel values in 0..1, by channel.
        published: gives its weights as an entry has them; may ask the hub.
    """

    size: int
    takes_one_size: bool
    mean: list[float]
    std: list[float]
    published: Callable[[], dict[str, Any]]


def entry_of(model: str, size: int | None = None, weights: Path | None = None) -> dict[str, Any]:
    """The values of an entry, as plain values.

    A network's recipe takes a center crop of 7/8 of the packed pixels, so that many are packed that
    the crop has the size that the model was trained with. Pixels are resized bilinearly for all
    networks, whatever a package states.

    Args:
        model: `timm/<name>` or `torchvision/<name>`.
        size: side of the images instead of the model's own, a smaller one for a CPU.
        weights: a file of its weights instead of the published one.

    Raises:
        UserError: an unknown model, no timm, no connection to published weights, no such file.
    """
    package, _, name = model.partition("/")
    if package not in _PACKAGES:
        raise unknown("package in MODEL", package, [f"{each}/..." for each in _PACKAGES])
    known = _PACKAGES[package](name)
    backbone = {"name": package, "model": name}
    if size is not None and known.takes_one_size:
        if package != "timm":
            raise UserError(f"{model}: size {size}; allowed: {known.size}")
        backbone["image_size"] = size
    values = {
        "title": name,
        "backbone": backbone,
        "weights": known.published() if weights is None else _local(weights),
        "pooling": "token",
        "pixels": -(-8 * (size or known.size) // 7),
        "mode": "rgb",
        "mean": known.mean,
        "std": known.std,
    }
    Network.model_validate(values)
    return values


def as_text(name: str, values: dict[str, Any]) -> str:
    """An entry as it is written to networks.yaml."""
    return as_yaml({name: values}, width=100, default_flow_style=None)


def _local(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise UserError(f"{file}: no such file")
    where = file.resolve()
    return {"file": file.name, "sha256": digest(where), "urls": [where.as_uri()]}


def _timm(name: str) -> Known:
    if importlib.util.find_spec("timm") is None:
        raise UserError(
            f"timm/{name}: timm is not installed; allowed after: .venv/bin/pip install timm"
        )
    import timm

    if not timm.is_model(name):
        near = timm.list_models(f"*{name.partition('.')[0]}*")[:5] or [
            "timm.list_models() lists them"
        ]
        raise UserError(f"timm/{name}: no such model; allowed: {', '.join(near)}")
    stated = timm.get_pretrained_cfg(name)
    return Known(
        size=stated.input_size[-1],
        takes_one_size=bool(stated.fixed_input_size),
        mean=list(stated.mean),
        std=list(stated.std),
        published=lambda: _of_the_hub(name, stated.hf_hub_id),
    )


def _of_the_hub(name: str, repository: str | None) -> dict[str, Any]:
    import huggingface_hub as hub

    allowed = "allowed: --weights, a file with them"
    if repository is None:
        raise UserError(f"timm/{name}: has no weights on the hub; {allowed}")
    url = hub.hf_hub_url(repository, "model.safetensors")
    try:
        metadata = hub.get_hf_file_metadata(url)
    # Its own errors, and those of the HTTP library, another one from version to version.
    except (OSError, *hub.errors.HfHubHTTPError.__bases__) as error:
        reason = str(error).partition("\n")[0][:100]
        raise UserError(f"timm/{name}: {url} cannot be reached ({reason}); {allowed}") from None
    # The digest of a large file; a server that is not quite the hub may name it otherwise.
    if not re.fullmatch("[0-9a-f]{64}", metadata.etag or ""):
        raise UserError(f"timm/{name}: {url} states no SHA-256 digest; {allowed}")
    file = f"{repository.rpartition('/')[2]}.safetensors"
    return {"file": file, "sha256": metadata.etag, "urls": [url], "bytes": metadata.size}


def _torchvision(name: str) -> Known:
    from torchvision import models

    names = models.list_models(module=models)
    if name not in names:
        raise unknown("model of torchvision", name, names)
    weights = models.get_model_weights(name).DEFAULT
    stated = weights.transforms()
    file = weights.url.rpartition("/")[2]
    start = Path(file).stem.rpartition("-")[2]
    return Known(
        size=stated.crop_size[0],
        takes_one_size=name.startswith("vit_"),
        mean=list(stated.mean),
        std=list(stated.std),
        published=lambda: {"file": file, "sha256": start, "urls": [weights.url]},
    )


_PACKAGES = {"timm": _timm, "torchvision": _torchvision}
