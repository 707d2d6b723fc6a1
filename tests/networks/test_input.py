"""From an encoded photograph to a network's input: our whole chain against the publishers'."""

import io
import zipfile

import numpy as np
import pretrainedmodels
import pytest
import torch
from dmlbench.data.feed import Feed
from dmlbench.data.index import index
from dmlbench.data.pack import pack
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.specs.spec import Spec
from PIL import Image
from test_embedder import VALUES
from torchvision import transforms as T

COUNT = 12


@pytest.fixture(scope="module")
def photographs(shared, tmp_path_factory):
    """Some photographs: their feed, packed with a shorter side of 256, and Pillow's images."""
    folder = tmp_path_factory.mktemp("photographs")
    with zipfile.ZipFile(shared / "datasets" / "grocery81" / "grocery81.zip") as archive:
        names = [name for name in archive.namelist() if name.endswith(".jpg")]
        chosen = sorted(np.random.default_rng(0).choice(names, COUNT, replace=False))
        encoded = [archive.read(name) for name in chosen]
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for number, data in enumerate(encoded):
            archive.writestr(f"x/{number:02}.jpg", data)
    files = folder / "p.npy", folder / "t.parquet"
    index([folder / "a.zip"], "class_folders", folder / "index")
    pack(folder / "index", [folder / "a.zip"], 256, "rgb", *files)
    images = [Image.open(io.BytesIO(data)).convert("RGB") for data in encoded]
    return Feed(Pixels(*files), torch.device("cpu")), images


def read_by(name, feed, repository):
    """The network's input from all images, center-cropped to 224."""
    network = read_yaml(repository / "config" / "networks.yaml", dict[str, Network])[name]
    values = network.model_dump(
        exclude={"title": True, "threads": True, "weights": {"urls", "bytes", "package"}}
    )
    embedder = Embedder(Spec.model_validate(VALUES | {"network": values}))
    (batch,) = feed.batches([np.arange(COUNT)])
    return embedder.normalized(build_transforms([{"center_crop": {"size": 224}}])(batch))


def test_bninception_reads_what_pretrainedmodels_gives_it(photographs, request):
    feed, images = photographs
    settings = pretrainedmodels.pretrained_settings["bninception"]["imagenet"]
    assert settings["input_space"] == "BGR"
    chain = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor()])
    low, high = settings["input_range"]
    found = read_by("bninception", feed, request.config.rootpath)
    for number, image in enumerate(images):
        expected = chain(image).flip(0) * high + low
        expected = T.Normalize(settings["mean"], settings["std"])(expected)
        torch.testing.assert_close(found[number], expected, rtol=0, atol=1e-3)


def test_resnet_reads_what_torchvision_gives_it(photographs, request):
    feed, images = photographs
    chain = T.Compose(
        [
            T.Resize(256),
            T.CenterCrop(224),
            T.ToTensor(),
            T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    found = read_by("resnet50", feed, request.config.rootpath)
    expected = torch.stack([chain(image) for image in images])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
