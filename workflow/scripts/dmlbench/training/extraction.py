"""The features of a frozen network, computed once for all of a data set's images."""

from pathlib import Path

import torch

from dmlbench.data.features import write_features
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from dmlbench.networks.embedder import Extractor
from dmlbench.networks.weights import load_weights
from dmlbench.parquet import read_table
from dmlbench.plan.specs.spec import SpecNetwork
from dmlbench.training.cpu import use_cpu
from dmlbench.training.device import pick_device
from dmlbench.training.embedding import embedded, steps
from dmlbench.training.gpus import share_of_a_gpu
from dmlbench.training.seeds import make_deterministic, seed_everything


def extract_features(
    values: dict,
    *,
    pixels: Path,
    pixel_table: Path,
    device: str,
    threads: int,
    output: Path,
    weights: Path | None = None,
) -> None:
    """Write the pooled features of all images, as `dmlbench.data.features.Features` reads them.

    Args:
        values: the network of a spec, as plain values; it is frozen.
        pixels, pixel_table: the packed images.
        device: `auto`, `cpu` or `cuda`.
        threads: CPU threads of torch.
        output: the file to write.
        weights: the file of weights that the network names; without one, weights are drawn with
            seed 0.

    Raises:
        UserError: weights that are missing or do not fit; images of several sizes that no
            transform crops.
    """
    network = SpecNetwork.model_validate(values)
    make_deterministic()
    use_cpu(threads)
    where = pick_device(device)
    seed_everything(0, "initial weights")
    extractor = Extractor(network)
    load_weights(extractor.backbone, network.weights, weights)
    feed = Feed(Pixels(pixels, pixel_table), where, share_of_a_gpu())
    ids = read_table(pixel_table, columns=["image_id"])["image_id"].to_numpy()
    transform = build_transforms(steps(network.frozen))
    features = embedded(extractor.to(where).eval(), feed, ids, transform)
    origin = {"network": network.model_dump(mode="json"), "torch": torch.__version__}
    write_features(output, ids, features, origin)
