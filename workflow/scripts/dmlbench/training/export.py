"""Embeddings of a trained run's images, as Parquet."""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from torch import Tensor

from dmlbench.data.embeddings import Embedded, write_embeddings
from dmlbench.data.feed import Feed
from dmlbench.data.stored import open_store
from dmlbench.errors import UserError
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.specs.spec import Spec
from dmlbench.tensor_files import read_tensors
from dmlbench.training.cpu import use_cpu
from dmlbench.training.data import Images, read_roles
from dmlbench.training.device import pick_device, use_precision
from dmlbench.training.embedding import embed_images
from dmlbench.training.gpus import share_of_a_gpu
from dmlbench.training.memory import out_of_memory_is_a_user_error
from dmlbench.training.prepared import origin
from dmlbench.training.seeds import make_deterministic


def embed_roles(
    spec: Spec,
    network: Embedder,
    feed: Feed,
    roles: Mapping[str, Images],
) -> dict[str, Embedded]:
    """Embed images of several roles.

    Args:
        spec: the run's.
        network: on its device.
        feed: the packed images.
        roles: which images.

    Returns:
        role -> embedded images.
    """
    return {
        role: Embedded(
            images.ids, images.labels, embed_images(spec, network, feed, images.ids).numpy()
        )
        for role, images in roles.items()
    }


def embed_with(
    weights: Mapping[str, Tensor],
    spec: Spec,
    network: Embedder,
    feed: Feed,
    roles: Mapping[str, Images],
    known: Mapping[str, Embedded] = MappingProxyType({}),
) -> dict[str, Embedded]:
    """Embed images of several roles with other weights than the network's.

    Args:
        weights: tensors by name, which must not share memory with the network's; afterwards the
            network has them.
        spec, network, feed, roles: as in `embed_roles`.
        known: what these weights have embedded before.
    """
    network.load_state_dict(weights)
    missing = {role: images for role, images in roles.items() if role not in known}
    embedded = {**known, **embed_roles(spec, network, feed, missing)}
    return {role: embedded[role] for role in roles}


def embedded_roles(
    roles: Mapping[str, Images], wanted: Collection[str] | None = None
) -> dict[str, Images]:
    """The roles to embed: the requested ones, or all except the training images.

    Raises:
        UserError: the split has no images of a requested role.
    """
    if wanted is None:
        return {role: images for role, images in roles.items() if role != "train"}
    for role in wanted:
        if role not in roles:
            raise UserError(f"roles: the split has no {role} images; allowed: {sorted(roles)}")
    return {role: images for role, images in roles.items() if role in wanted}


def export_embeddings(
    values: dict,
    *,
    model: Path,
    last: Path,
    index: Path,
    split: Path,
    device: str,
    threads: int,
    output: Path,
    roles: Collection[str] | None = None,
    **stored: Path,
) -> None:
    """Embed a run's images with the selected and with the last epoch's weights.

    Writes the file of `dmlbench.data.embeddings`, with its origin in the metadata
    (`dmlbench.training.prepared.origin`).

    Args:
        values: the run's spec, as plain values.
        model, last: the selected and the last epoch's weights.
        index, split: Parquet files of the data set's images and of their roles.
        device: `auto`, `cpu` or `cuda`.
        threads: CPU threads of torch.
        output: written: the embeddings.
        roles: which images; None for all except the training ones.
        stored: as `dmlbench.data.stored.open_store` takes it.

    Raises:
        DamagedError: weights that cannot be read.
        UserError: the split has no images of a role; a GPU that is too small.
    """
    spec = Spec.model_validate(values)
    make_deterministic()
    use_cpu(threads)
    use_precision(spec.precision)
    where = pick_device(device)
    images = embedded_roles(read_roles(index, split, spec.fold), roles)
    weights = {spec.selection: read_tensors(model), "last_epoch": read_tensors(last)}
    with out_of_memory_is_a_user_error(spec):
        feed = Feed(open_store(**stored), where, share_of_a_gpu())
        network = Embedder(spec, feed.features).to(where)
        embeddings = {
            selection: embed_with(tensors, spec, network, feed, images)
            for selection, tensors in weights.items()
        }
    write_embeddings(output, embeddings, origin(spec, model=model, last=last, split=split))
