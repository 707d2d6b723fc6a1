"""Embeddings of a trained run's images, as Parquet."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from dmlbench.data.embeddings import Embedded, write_embeddings
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.files import damage_is_named, digest
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.spec import Spec
from dmlbench.training.cpu import use_cpu
from dmlbench.training.data import read_roles
from dmlbench.training.device import pick_device
from dmlbench.training.embedding import embed_images
from dmlbench.training.seeds import make_deterministic


def export_embeddings(
    values: dict,
    *,
    model: Path,
    last: Path,
    index: Path,
    split: Path,
    pixels: Path,
    pixel_table: Path,
    device: str,
    threads: int,
    output: Path,
) -> None:
    """Embed all images but the training ones, with the selected and with the last epoch's weights.

    Writes the file of `dmlbench.data.embeddings`, with the digests of weights, split and spec in
    its metadata.
    """
    spec = Spec.model_validate(values)
    make_deterministic()
    use_cpu(threads)
    where = pick_device(device)
    roles = read_roles(index, split, spec.fold)
    del roles["train"]
    feed = Feed(Pixels(pixels, pixel_table), where)
    network = Embedder(spec).to(where)
    embeddings = {}
    for selection, weights in {spec.selection: model, "last_epoch": last}.items():
        with damage_is_named(weights, SafetensorError):
            tensors = load_file(weights)
        network.load_state_dict(tensors)
        embeddings[selection] = {
            role: Embedded(
                images.ids,
                images.labels,
                embed_images(spec, network, feed, images.ids).numpy(),
            )
            for role, images in roles.items()
        }
    metadata = {
        "spec": spec.digest,
        "model": digest(model),
        "last": digest(last),
        "split": digest(split),
    }
    write_embeddings(output, embeddings, metadata)
