"""Any model of timm and torchvision: features, statistics, weights, and what is said without."""

import importlib.util

import pytest
import torch
import yaml
from dmlbench import registry
from dmlbench.errors import DamagedError, UserError
from dmlbench.files import digest
from dmlbench.networks.embedder import Extractor
from dmlbench.networks.entry import as_text, entry_of
from dmlbench.networks.weights import load_weights
from dmlbench.networks.work import work_of
from dmlbench.plan.catalogs import catalogues
from dmlbench.plan.catalogs.catalogues import Network, SpecWeights
from dmlbench.plan.specs.spec import SpecNetwork
from torchvision import models

HAS_TIMM = importlib.util.find_spec("timm") is not None
with_timm = pytest.mark.skipif(not HAS_TIMM, reason="needs timm: make test-optional")


def backbone(package, model, **options):
    torch.manual_seed(0)
    context = {"input_channels": 3}
    built = registry.build("networks/backbones", package, context=context, model=model, **options)
    return built.eval()


# The input of a classifier, and how the package gives it without our help.
TORCHVISION = {
    "resnet18": lambda network: network.fc,
    "mobilenet_v3_small": lambda network: network.classifier[-1],
    "shufflenet_v2_x0_5": lambda network: network.fc,
    "densenet121": lambda network: network.classifier,
}


@pytest.mark.parametrize("model", TORCHVISION)
def test_features_of_torchvision_are_what_its_classifier_takes(model):
    built = backbone("torchvision", model)
    whole = models.get_model(model, weights=None).eval()
    missing, unexpected = whole.load_state_dict(built.body.state_dict(), strict=False)
    assert len(missing) == 2
    assert not unexpected
    images, classifier = torch.rand(2, 3, 64, 64), TORCHVISION[model](whole)
    with torch.inference_mode():
        features = built(images)
        assert features.shape == (2, built.features) == (2, classifier.in_features)
        torch.testing.assert_close(classifier(features), whole(images))


@with_timm
@pytest.mark.parametrize(
    "model",
    ["test_resnet", "test_vit", "test_convnext", "test_efficientnet", "mobilenetv3_small_050"],
)
def test_features_of_timm_are_what_its_classifier_takes(model):
    import timm

    built = backbone("timm", model)
    whole = timm.create_model(model, pretrained=False).eval()
    assert not whole.load_state_dict(built.body.state_dict(), strict=False).unexpected_keys
    images = torch.rand(2, 3, *whole.pretrained_cfg["input_size"][1:])
    with torch.inference_mode():
        features = built(images)
        assert features.shape == (2, built.features)
        torch.testing.assert_close(whole.get_classifier()(features), whole(images))


def whole_network(package, model):
    """A network with its classifier, and other weights than a new one."""
    if package == "torchvision":
        return models.get_model(model, weights=None)
    import timm

    return timm.create_model(model, pretrained=False)


@pytest.mark.parametrize(
    ("package", "model"),
    [
        ("torchvision", "mobilenet_v3_small"),
        pytest.param("timm", "test_vit", marks=with_timm),
        pytest.param("timm", "test_convnext", marks=with_timm),
    ],
)
def test_a_file_of_weights_is_checked_and_loaded(package, model, tmp_path):
    torch.manual_seed(7)
    published, file = whole_network(package, model), tmp_path / "weights.pth"
    torch.save(published.state_dict(), file)
    values = entry_of(f"{package}/{model}", weights=file)
    assert values["weights"] == {
        "file": file.name, "sha256": digest(file), "urls": [file.as_uri()]
    }  # fmt: skip
    network = Network.model_validate(yaml.safe_load(as_text("mine", values))["mine"])
    built = backbone(package, model)
    weights = SpecWeights(file=file.name, sha256=network.weights.sha256)
    load_weights(built, weights, file)
    found = built.body.state_dict()
    assert len(found) > 10
    for name, tensor in found.items():
        assert torch.equal(tensor, published.state_dict()[name]), name
    file.write_bytes(b"other")
    with pytest.raises(DamagedError, match="expected weights of sha256"):
        load_weights(built, weights, file)


def test_weights_of_another_network_are_one_line(tmp_path):
    file = tmp_path / "other.pth"
    torch.save(models.shufflenet_v2_x0_5(weights=None).state_dict(), file)
    weights = SpecWeights(file=file.name, sha256=digest(file))
    with pytest.raises(UserError, match=r"tensors missing: features.0.0.weight, .* and \d+ more"):
        load_weights(backbone("torchvision", "mobilenet_v3_small"), weights, file)


@with_timm
def test_positions_are_resampled_for_another_size(tmp_path):
    import timm

    torch.manual_seed(7)
    file, whole = tmp_path / "w.pth", timm.create_model("test_vit", pretrained=False)
    torch.save(whole.state_dict(), file)
    built = backbone("timm", "test_vit", image_size=96)
    load_weights(built, SpecWeights(file=file.name, sha256=digest(file)), file)
    torch.testing.assert_close(built.body.pos_embed[:, 0], whole.pos_embed[:, 0])
    with torch.inference_mode():
        assert built(torch.rand(1, 3, 96, 96)).shape == (1, built.features)


@pytest.mark.parametrize(
    ("package", "model"),
    [
        ("torchvision", "vit_b_32"),
        pytest.param("timm", "vit_tiny_patch16_224", marks=with_timm),
    ],
)
def test_images_of_a_size_that_a_network_does_not_take_are_one_line(package, model):
    with pytest.raises(UserError, match=rf"{model}: images of 64 x 64 pixels: .*; allowed: the"):
        backbone(package, model)(torch.rand(1, 3, 64, 64))


def test_statistics_of_torchvision_are_those_of_its_weights():
    values = entry_of("torchvision/vit_b_16")
    preset = models.ViT_B_16_Weights.DEFAULT
    assert values["mean"] == preset.transforms().mean
    assert values["weights"]["urls"] == [preset.url]
    assert preset.url.endswith(f"-{values['weights']['sha256']}.pth")
    # A recipe crops 7/8 of it.
    assert 7 * values["pixels"] // 8 == preset.transforms().crop_size[0]


@pytest.mark.parametrize(
    ("model", "tolerance"),
    # torchvision counts MobileNetV3's squeezes and hard swishes, too.
    [("vit_b_32", 2e-3), ("regnet_y_400mf", 2e-3), ("swin_t", 2e-3), ("mobilenet_v3_small", 0.03)],
)
def test_multiply_adds_are_those_that_torchvision_publishes(model, tolerance, tmp_path):
    (tmp_path / "w.pth").touch()
    network = Network.model_validate(entry_of(f"torchvision/{model}", weights=tmp_path / "w.pth"))
    published = models.get_model_weights(model).DEFAULT
    found = work_of(network, published.transforms().crop_size[0])
    assert found.multiply_adds == pytest.approx(published.meta["_ops"], rel=tolerance)


@with_timm
def test_statistics_of_timm_are_those_of_its_configuration(tmp_path):
    import timm

    (tmp_path / "w.pth").write_bytes(b"")
    for model in ("vit_small_patch14_dinov2.lvd142m", "test_vit.r160_in1k", "resnet50.a1_in1k"):
        values = entry_of(f"timm/{model}", weights=tmp_path / "w.pth")
        stated = timm.get_pretrained_cfg(model)
        assert (values["mean"], values["std"]) == (list(stated.mean), list(stated.std))
        assert 7 * values["pixels"] // 8 == stated.input_size[-1]
    small = entry_of("timm/vit_small_patch14_dinov2.lvd142m", 224, tmp_path / "w.pth")
    assert (small["backbone"]["image_size"], small["pixels"]) == (224, 256)


@pytest.mark.parametrize(
    ("model", "size", "said"),
    [
        ("tim/x", None, "unknown package in MODEL 'tim'; allowed: timm/..., torchvision/..."),
        ("torchvision/resnet19", None, "unknown model of torchvision 'resnet19'; did you mean"),
        ("torchvision/vit_b_16", 96, "torchvision/vit_b_16: size 96; allowed: 224"),
        pytest.param("timm/resnet_18", None, "timm/resnet_18: no such model", marks=with_timm),
    ],
)
def test_a_model_that_there_is_not_is_one_line(model, size, said):
    with pytest.raises(UserError, match=said):
        entry_of(model, size)


# What is missing, where it was looked for, and what to do.
OFFLINE = (
    r"^timm/test_vit\.r160_in1k: https://\S+/test_vit\.r160_in1k/resolve/main/model\.safetensors "
    r"cannot be reached \(offline\); allowed: --weights, a file with them$"
)


def test_without_timm_its_models_say_how_to_have_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    said = r"^timm/test_vit: timm is not installed; allowed after: \.venv/bin/pip install timm$"
    with pytest.raises(UserError, match=said):
        entry_of("timm/test_vit")


@with_timm
def test_without_a_connection_a_file_is_asked_for(monkeypatch):
    import huggingface_hub as hub

    def refused(url):
        raise hub.errors.OfflineModeIsEnabled("offline")

    monkeypatch.setattr(hub, "get_hf_file_metadata", refused)
    with pytest.raises(UserError, match=OFFLINE):
        entry_of("timm/test_vit.r160_in1k")


@with_timm
def test_weights_of_the_hub_have_an_address_and_a_hash(monkeypatch):
    import huggingface_hub as hub

    found = hub.HfFileMetadata.__new__(hub.HfFileMetadata)
    vars(found).update(etag="ab" * 32, size=7)
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda url: found)
    weights = entry_of("timm/test_vit.r160_in1k")["weights"]
    assert (weights["sha256"], weights["bytes"]) == ("ab" * 32, 7)
    assert weights["file"] == "test_vit.r160_in1k.safetensors"
    assert weights["urls"][0].endswith("/timm/test_vit.r160_in1k/resolve/main/model.safetensors")


VALUES = {
    "title": "Any",
    "backbone": {"name": "timm", "model": "test_vit"},
    "pooling": "token",
    "pixels": 183,
    "mode": "rgb",
    "mean": [0.5] * 3,
    "std": [0.5] * 3,
}


def test_without_timm_a_run_is_refused_and_a_catalogue_is_not(monkeypatch):
    monkeypatch.setattr(catalogues, "_is_installed", lambda package: False)
    network = Network.model_validate(VALUES)
    values = network.model_dump(exclude={"title", "threads"})
    said = "backbone timm needs the package timm, which is not installed; allowed after"
    with pytest.raises(ValueError, match=said):
        SpecNetwork.model_validate(values)


@with_timm
def test_an_extractor_gives_the_features():
    values = Network.model_validate(VALUES).model_dump(exclude={"title", "threads"})
    built = Extractor(SpecNetwork.model_validate(values)).eval()
    with torch.inference_mode():
        assert built(torch.rand(2, 3, 160, 160)).shape == (2, built.width)
