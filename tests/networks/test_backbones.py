"""Backbones: their shapes, their sizes, and no unneeded imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from dmlbench import registry
from dmlbench.errors import UserError
from torchvision import models

SCRIPTS = Path(registry.__file__).resolve().parents[1]


def backbone(name, input_channels=3, **hyperparameters):
    torch.manual_seed(0)
    context = {"input_channels": input_channels}
    return registry.build("networks/backbones", name, context=context, **hyperparameters)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


# Parameters with a classifier of 1,000 classes, as torchvision's catalogue and the papers print
# them (BNInception: Caffe's 11,295,240; EfficientNet-Lite: timm's 4.65, 5.42 and 6.09 million),
# and that classifier's inputs.
SIZES = {
    "resnet18": (11_689_512, 512),
    "resnet50": (25_557_032, 2048),
    "googlenet": (6_624_904, 1024),
    "mobilenet_v2": (3_504_872, 1280),
    "efficientnet_lite0": (4_652_008, 1280),
    "efficientnet_lite1": (5_416_680, 1280),
    "efficientnet_lite2": (6_092_072, 1280),
    "bn_inception": (11_295_240, 1024),
    "vit_s16": (22_050_664, 384),
}
WITH_MAPS = [name for name in SIZES if name != "vit_s16"]


@pytest.mark.parametrize("name", SIZES)
def test_parameters_are_the_published_ones_without_the_classifier(name):
    with_classifier, features = SIZES[name]
    built = backbone(name)
    assert built.features == features
    assert count(built) == with_classifier - 1000 * (features + 1)


@pytest.mark.parametrize("name", WITH_MAPS)
def test_maps_have_the_stated_shape(name):
    built = backbone(name).eval()
    with torch.inference_mode():
        assert built(torch.rand(2, 3, 64, 96)).shape == (2, built.features, 2, 3)


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "efficientnet_lite0"])
def test_maps_of_other_sizes_are_rounded_up(name):
    built = backbone(name).eval()
    with torch.inference_mode():
        assert built(torch.rand(1, 3, 65, 64)).shape == (1, built.features, 3, 2)


@pytest.mark.parametrize(
    ("name", "classifier"),
    [
        ("resnet18", lambda network, maps: network.fc(maps.mean((2, 3)))),
        ("resnet50", lambda network, maps: network.fc(maps.mean((2, 3)))),
        ("googlenet", lambda network, maps: network.fc(maps.mean((2, 3)))),
        ("mobilenet_v2", lambda network, maps: network.classifier(maps.mean((2, 3)))),
    ],
)
def test_maps_are_those_that_torchvisions_network_classifies(name, classifier):
    built = backbone(name).eval()
    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    whole = getattr(models, name)(**options).eval()
    whole.load_state_dict(built.body.state_dict(), strict=False)
    images = torch.rand(2, 3, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(classifier(whole, built(images)), whole(images))


def test_a_network_with_its_classifier_gives_what_torchvisions_gives():
    built = backbone("resnet18_logits").eval()
    whole = models.resnet18().eval()
    whole.load_state_dict(built.body.state_dict())
    assert (built.features, count(built)) == (1000, SIZES["resnet18"][0])
    images = torch.rand(2, 3, 64, 96)
    with torch.inference_mode():
        maps = built(images)
        assert maps.shape == (2, 1000, 1, 1)
        torch.testing.assert_close(maps.flatten(1), whole(images))


def test_googlenet_returns_one_tensor_in_training():
    built = backbone("googlenet").train()
    assert isinstance(built(torch.rand(2, 3, 32, 32)), torch.Tensor)
    assert not any("aux" in name for name in built.state_dict())


def test_vit_returns_a_token_of_images_of_its_size_only():
    built = backbone("vit_s16", image_size=32).eval()
    with torch.inference_mode():
        assert built(torch.rand(2, 3, 32, 32)).shape == (2, 384)
    with pytest.raises(UserError, match="images of 48 x 32 pixels; allowed: image_size"):
        built(torch.rand(2, 3, 48, 32))
    with pytest.raises(UserError, match=r"image_size is 40; allowed: a multiple of 16"):
        backbone("vit_s16", image_size=40)


@pytest.mark.parametrize("name", SIZES)
def test_gray_images_are_refused(name):
    with pytest.raises(UserError, match="takes 1 input channels; allowed: 3"):
        backbone(name, input_channels=1)


@pytest.mark.parametrize(("size", "corner"), [(8, (0, 1)), (9, (1, 1))])
def test_tensorflow_padding_is_on_the_far_side(size, corner):
    """TensorFlow's SAME: output ceil(n / 2), and the odd pixel after the last."""
    built = backbone("mobilenet_v2", padding="tensorflow").eval()
    convolution = built.body.features[0][0]
    images = torch.rand(1, 3, size, size)
    expected = F.conv2d(F.pad(images, (*corner, *corner)), convolution.weight, stride=2)
    torch.testing.assert_close(convolution(images), expected)
    assert expected.shape[-1] == -(-size // 2)


def test_paddings_are_checked():
    with pytest.raises(UserError, match="padding is 'same'; allowed: 'symmetric' or 'tensorflow'"):
        backbone("mobilenet_v2", padding="same")


@pytest.mark.slow
def test_a_convnet_loads_neither_torchvision_nor_pretrainedmodels():
    code = (
        "import sys; from dmlbench import registry; import dmlbench.networks.embedder\n"
        "import dmlbench.networks.weights\n"
        "registry.build('networks/backbones', 'convnet', context={'input_channels': 1})\n"
        "assert not {'torchvision', 'pretrainedmodels'} & set(sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.slow
def test_importing_a_backbone_draws_nothing():
    """Otherwise the first network of a process would start differently from the second."""
    code = (
        "import torch; from dmlbench import registry; torch.manual_seed(0)\n"
        "before = torch.get_rng_state()\n"
        "for name in registry.available('networks/backbones'):\n"
        "    __import__(f'dmlbench.networks.backbones.{name}')\n"
        "    assert torch.equal(torch.get_rng_state(), before), name"
    )
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
