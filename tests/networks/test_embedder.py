"""The embedder: the input of a backbone, and how its maps become vectors."""

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.networks.embedder import POOLING, Embedder
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.specs.spec import Spec, SpecNetwork

NETWORK = {
    "backbone": {"name": "convnet", "widths": [4]},
    "pooling": "average",
    "pixels": 8,
    "mode": "rgb",
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
}
VALUES = {
    "dataset": "toy",
    "network": NETWORK,
    "embedding_dim": 5,
    "loss": None,
    "miner": None,
    "sampler": "random",
    "split": "half",
    "fold": None,
    "seed": 0,
    "epochs": 0,
    "batch_size": 2,
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "selection": "last_epoch",
}


def embedder(changes=None):
    return Embedder(Spec.model_validate(merged(VALUES, changes or {})))


def test_images_are_normalized_by_mean_and_std():
    images = torch.rand(2, 3, 8, 8)
    expected = (images.double().numpy() - np.reshape(NETWORK["mean"], (3, 1, 1))) / np.reshape(
        NETWORK["std"], (3, 1, 1)
    )
    np.testing.assert_allclose(embedder().normalized(images).numpy(), expected, atol=1e-5)


def test_bninception_takes_blue_green_red_from_0_to_255():
    caffe = {"channels": "bgr", "scale": 255, "mean": [104, 117, 128], "std": [1, 1, 1]}
    network = embedder({"network": caffe})
    red, green, blue = 255, 51, 0
    image = torch.tensor([red, green, blue]).view(1, 3, 1, 1) / 255
    found = network.normalized(image).flatten().tolist()
    np.testing.assert_allclose(found, [0 - 104, 51 - 117, 255 - 128], atol=1e-4)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [("average", [2.5, 5.0]), ("maximum", [4.0, 8.0]), ("sum", [6.5, 13.0])],
)
def test_pooling(pooling, expected):
    maps = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) * torch.tensor([1.0, 2.0]).view(1, 2, 1, 1)
    assert POOLING[pooling](maps).tolist() == [expected]


def test_a_token_needs_no_pooling():
    vit = {"backbone": {"name": "vit_s16", "image_size": 16}, "pooling": "token", "pixels": 16}
    network = embedder({"network": vit}).eval()
    assert network(torch.rand(2, 3, 16, 16)).shape == (2, 5)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"pooling": "token"}, "pooling token does not fit backbone convnet; allowed: average"),
        ({"backbone": "vit_s16"}, "pooling average does not fit backbone vit_s16; allowed: token"),
        (
            {"mode": "gray", "mean": [0.5], "std": [0.5], "channels": "bgr"},
            "channels bgr does not fit mode gray",
        ),
        ({"weights": {"file": "a.pth", "sha256": "0" * 7}}, "weights.sha256"),
        ({"weights": {"file": "a.pth", "sha256": "0" * 32}}, "weights.sha256"),
    ],
)
@pytest.mark.parametrize("kind", [Network, SpecNetwork])
def test_parts_that_do_not_fit_are_refused_by_the_plan(kind, changes, part):
    title = {"title": "A"} if kind is Network else {}
    with pytest.raises(UserError) as error:
        checked(title | NETWORK | changes, kind, where="here")
    assert part in str(error.value)


def test_frozen_affine_parameters_stay_frozen_after_warm_up():
    network = embedder({"frozen_batchnorm": "affine"})
    network.backbone.requires_grad_(True)
    network.train()
    learning = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    assert learning == {"backbone.blocks.0.0.weight", "head.weight", "head.bias"}
    assert network.backbone.blocks[0][1].training


@pytest.mark.parametrize(
    ("backbone", "size", "pooling"),
    [
        ("convnet", 32, "average"),
        ("resnet18", 64, "average"),
        ("resnet50", 64, "average"),
        ("googlenet", 64, "average"),
        ("bn_inception", 64, "average"),
        ("mobilenet_v2", 64, "average"),
        pytest.param("vit_s16", 224, "token", marks=pytest.mark.slow),
    ],
)
def test_the_whole_batch_enters_every_stage(backbone, size, pooling):
    """Images exchanged at any stage come out exchanged: no part of the batch bypasses it."""
    changes = {"backbone": {"name": backbone}, "pixels": size, "pooling": pooling}
    network = embedder({"network": changes}).eval()
    images, order = torch.rand(4, 3, size, size), torch.tensor([2, 0, 3, 1])
    with torch.no_grad():
        expected = network(images)[order]
        for stage in network.stages:
            hook = stage.register_forward_pre_hook(lambda _, given: (given[0][order], *given[1:]))
            np.testing.assert_allclose(network(images), expected, atol=1e-5)
            hook.remove()


def test_reduced_precision_is_of_the_inside_alone():
    torch.manual_seed(0)
    full, reduced = embedder(), embedder({"precision": "bfloat16"})
    reduced.load_state_dict(full.state_dict())
    images = torch.rand(4, 3, 8, 8)
    inside = []
    reduced.head.register_forward_hook(lambda _, given, out: inside.append(out.dtype))
    given, other = full(images), reduced(images)
    assert inside == [torch.bfloat16]
    assert other.dtype == torch.float32
    assert {weights.dtype for weights in reduced.parameters()} == {torch.float32}
    torch.testing.assert_close(other.norm(dim=1), torch.ones(4))
    assert 0 < (given - other).abs().max() < 0.02
