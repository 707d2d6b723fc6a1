"""Published weights on real photographs distinguish classes that they were not trained on."""

from pathlib import Path

import pytest
import torch
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.pixels import Pixels
from dmlbench.data.split import split
from dmlbench.data.transforms.center_crop import CenterCrop
from dmlbench.evaluation import score
from dmlbench.networks.embedder import Embedder
from dmlbench.networks.weights import load_weights
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.data import read_roles
from stores import images_of
from test_embedder import VALUES
from torch.nn.functional import normalize

REPOSITORY = Path(__file__).resolve().parents[2]
SIDE = 160


def unseen(folder, archive, layout):
    """The images of the second half of the classes: uint8 [N, 3, 160, 160], and labels."""
    index, half = folder / "images.parquet", folder / "half.parquet"
    make_index([archive], layout, index)
    split(index, "half", half)
    pack(index, [archive], SIDE, "rgb", folder / "pixels.npy", folder / "pixels.parquet")
    test = read_roles(index, half, None)["test"]
    store, crop = Pixels(folder / "pixels.npy", folder / "pixels.parquet"), CenterCrop(size=SIDE)
    return torch.cat([crop(images_of(store, [image_id])) for image_id in test.ids]), test.labels


@pytest.fixture(scope="module")
def photographs(shared, tmp_path_factory):
    """The upper 40 classes of Grocery Store."""
    archive = shared / "datasets" / "grocery81" / "grocery81.zip"
    return unseen(tmp_path_factory.mktemp("grocery81"), archive, "grocery")


@pytest.fixture(scope="module")
def birds(shared, tmp_path_factory):
    """The upper 100 classes of CUB-200-2011."""
    archive = shared / "datasets" / "cub200_160" / "cub200_160.zip"
    return unseen(tmp_path_factory.mktemp("cub200"), archive, "cub200")


def recall_at_1(photographs, weights, name="mobilenet_v2"):
    """Of pooled features, and of an untrained head of 512 on them."""
    networks = read_yaml(REPOSITORY / "config" / "networks.yaml", dict[str, Network])
    network = networks[name].model_dump(
        exclude={"title": True, "threads": True, "weights": {"urls", "bytes", "package"}}
    )
    spec = Spec.model_validate(VALUES | {"network": network, "embedding_dim": 512})
    torch.manual_seed(0)
    embedder = Embedder(spec).eval()
    if weights:
        load_weights(embedder.backbone, spec.network.weights, weights)
    images, labels = photographs
    with torch.inference_mode():
        features = torch.cat(
            [
                embedder.pool(embedder.backbone(embedder.normalized(batch / 255)))
                for batch in images.split(64)
            ]
        )
        embeddings = {"pooled": normalize(features), "head": normalize(embedder.head(features))}
    return {
        name: score(vectors, labels, metrics=["recall_at_1"])["recall_at_1"]
        for name, vectors in embeddings.items()
    }


@pytest.mark.evidence
def test_mobilenets_published_weights_tell_unseen_groceries_apart(shared, photographs):
    recall = recall_at_1(
        photographs, shared / "datasets" / "weights" / "mobilenet_v2_tf-a3761d30.pth"
    )
    assert recall["pooled"] == pytest.approx(0.925, abs=0.015)
    assert recall["head"] > 0.88


@pytest.mark.evidence
def test_without_weights_it_does_not(photographs):
    recall = recall_at_1(photographs, None)
    assert 0.2 < recall["pooled"] < 0.5


@pytest.mark.evidence
def test_efficientnets_published_weights_tell_unseen_birds_apart(shared, birds):
    weights = shared / "datasets" / "weights" / "efficientnet_lite0-acf4645b.pth"
    recall = recall_at_1(birds, weights, "efficientnet_lite0")
    # measured with other code
    assert recall["pooled"] == pytest.approx(0.456, abs=0.01)
