"""Published weights: all of them, or a line that says what is wrong."""

import re

import pytest
import torch
from dmlbench.data.download import download
from dmlbench.errors import DamagedError, UserError
from dmlbench.networks.weights import load_weights
from dmlbench.plan.catalogs.catalogues import SpecWeights
from safetensors.torch import save_file
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention
from torchvision import models
from toy_training import train
from weight_files import backbone, digest, load, refused

MOBILENET = "a3761d30fcbcc0b8c1305bc6f31037187a1dc53902d02a0425ef5c1428e1bfc8"


@pytest.fixture
def published():
    """Tensors as torchvision publishes those of ResNet-18."""
    torch.manual_seed(1)
    return models.resnet18().state_dict()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "resnet18.pth"


@pytest.mark.parametrize("wrap", [lambda w: w, lambda w: {"model": w}, lambda w: {"state_dict": w}])
def test_a_round_trip(published, path, wrap):
    torch.save(wrap(published), path)
    built = backbone("resnet18")
    load(built, path)
    for name, tensor in built.body.state_dict().items():
        assert torch.equal(tensor, published[name])


def test_a_round_trip_as_safetensors(published, tmp_path):
    path = tmp_path / "resnet18.safetensors"
    save_file(published, path)
    built = backbone("resnet18")
    load(built, path, digest(path)[:8])
    assert torch.equal(built.body.conv1.weight, published["conv1.weight"])


def test_files_from_before_batches_were_counted_are_taken(published, path):
    torch.save({k: v for k, v in published.items() if "num_batches" not in k}, path)
    load(backbone("resnet18"), path)


def test_missing_unexpected_and_misshapen_tensors_are_named(published, path):
    without = {k: v for k, v in published.items() if k != "layer1.0.conv1.weight"}
    torch.save(without, path)
    assert "1 tensor missing: layer1.0.conv1.weight" in refused(backbone("resnet18"), path)[0]

    torch.save(published | {"layer9.weight": torch.ones(1)}, path)
    assert "1 tensor unexpected: layer9.weight" in refused(backbone("resnet18"), path)[0]

    torch.save(published | {"conv1.weight": torch.ones(64, 1, 7, 7)}, path)
    message, before = refused(built := backbone("resnet18"), path)
    assert "1 tensor of other shapes: conv1.weight" in message
    assert all(torch.equal(tensor, before[name]) for name, tensor in built.state_dict().items())


def test_weights_of_another_network_are_refused(path):
    torch.save(models.mobilenet_v2().state_dict(), path)
    message, _ = refused(backbone("resnet18"), path)
    assert re.search(
        r"\d+ tensors missing: conv1.weight, bn1.weight, bn1.bias and \d+ more", message
    )


def test_a_truncated_file_and_a_wrong_hash_are_refused(published, path):
    torch.save(published, path)
    whole = digest(path)
    assert "expected weights of sha256 00000000" in refused(backbone("resnet18"), path, "0" * 8)[0]
    path.write_bytes(path.read_bytes()[:10_000])
    # Because it counts as damaged, its job removes it and the next call fetches it again.
    with pytest.raises(DamagedError, match=f"expected weights of sha256 {whole[:16]}, found "):
        load(backbone("resnet18"), path, whole)
    assert "not a file of weights" in refused(backbone("resnet18"), path)[0]


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x02]"])
def test_what_is_no_file_of_weights_is_refused(path, content):
    path.write_bytes(content)
    assert "not a file of weights" in refused(backbone("resnet18"), path)[0]


def test_other_content_is_refused(path):
    torch.save([1, 2], path)
    assert "something other than tensors by name" in refused(backbone("resnet18"), path)[0]


def test_code_in_a_file_is_not_run(path):
    torch.save({"conv1.weight": print}, path)
    assert "not a file of weights" in refused(backbone("resnet18"), path)[0]


def test_a_missing_file_and_a_backbone_without_weights_are_refused(path):
    named = SpecWeights(file="resnet18.pth", sha256="0" * 8)
    for missing in (None, path):
        with pytest.raises(UserError, match=r"resnet18.pth: no such file"):
            load_weights(backbone("resnet18"), named, missing)
    convnet = backbone("convnet")
    with pytest.raises(UserError, match="backbone ConvNet has no published weights"):
        load_weights(convnet, named, path)
    load_weights(convnet, None, None)


@pytest.mark.parametrize("content", [None, b"another file"])
def test_no_epoch_is_trained_without_the_right_file(tmp_path, path, toy_data, content):
    if content:
        path.write_bytes(content)
    network = {
        "backbone": {"name": "resnet18"},
        "weights": {"file": path.name, "sha256": "0" * 8},
        "mode": "rgb",
        "mean": [0.5] * 3,
        "std": [0.5] * 3,
    }
    run = tmp_path / "run"
    with pytest.raises(UserError, match=r"resnet18\.pth: (no such file|damaged or incomplete)"):
        train(run, toy_data, {"network": network}, weights=path)
    assert list(run.iterdir()) == []


def test_a_download_may_know_only_how_its_hash_begins(tmp_path):
    (tmp_path / "mirror" / "weights").mkdir(parents=True)
    file = tmp_path / "mirror" / "weights" / "a.pth"
    file.write_bytes(b"weights")
    facts = {
        "name": "a.pth",
        "dataset": "weights",
        "urls": [],
        "mirrors": [str(tmp_path / "mirror")],
        "mirror_sha256": [],
        "output": tmp_path / "out" / "a.pth",
    }
    download(sha256=digest(file)[:8], bytes=7, **facts)
    assert facts["output"].read_bytes() == b"weights"
    facts["output"].unlink()
    with pytest.raises(UserError, match="expected sha256 00000000, found"):
        download(sha256="00000000", **facts)
    with pytest.raises(UserError, match="expected 8 bytes, found 7"):
        download(sha256=digest(file)[:8], bytes=8, **facts)
    assert not facts["output"].exists()


def test_a_vit_takes_files_by_deits_names():
    """Tensors by DeiT's names give the token that a forward written by those names gives."""
    torch.manual_seed(2)
    built = backbone("vit_s16", image_size=32).eval()
    weights = deit_weights()
    built.body.load_state_dict(built.renamed(weights))
    images = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        torch.testing.assert_close(built(images), deit(weights, images), atol=1e-4, rtol=1e-4)


def deit_weights():
    shapes = {
        "cls_token": (1, 1, 384),
        "pos_embed": (1, 5, 384),
        "patch_embed.proj.weight": (384, 3, 16, 16),
        "patch_embed.proj.bias": (384,),
        "norm.weight": (384,),
        "norm.bias": (384,),
    }
    for block in range(12):
        for part, shape in {
            "norm1.weight": (384,),
            "norm2.weight": (384,),
            "attn.qkv.weight": (1152, 384),
            "attn.proj.weight": (384, 384),
            "mlp.fc1.weight": (1536, 384),
            "mlp.fc2.weight": (384, 1536),
        }.items():
            shapes[f"blocks.{block}.{part}"] = shape
            shapes[f"blocks.{block}.{part.replace('weight', 'bias')}"] = shape[:1]
    return {name: 0.1 * torch.randn(shape) for name, shape in shapes.items()}


def deit(weights, images):
    """The class token of Touvron et al. (2021), written out."""

    def two(name):
        return weights[f"{name}.weight"], weights[f"{name}.bias"]

    patches = torch.conv2d(images, *two("patch_embed.proj"), stride=16).flatten(2).mT
    x = torch.cat([weights["cls_token"].expand(len(images), 1, 384), patches], dim=1)
    x = x + weights["pos_embed"]
    for block in (f"blocks.{number}" for number in range(12)):
        normed = layer_norm(x, (384,), *two(f"{block}.norm1"), eps=1e-6)
        heads = linear(normed, *two(f"{block}.attn.qkv")).unflatten(2, (3, 6, 64))
        queries, keys, values = heads.permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(queries, keys, values).transpose(1, 2).flatten(2)
        x = x + linear(attended, *two(f"{block}.attn.proj"))
        normed = layer_norm(x, (384,), *two(f"{block}.norm2"), eps=1e-6)
        x = x + linear(gelu(linear(normed, *two(f"{block}.mlp.fc1"))), *two(f"{block}.mlp.fc2"))
    return layer_norm(x, (384,), *two("norm"), eps=1e-6)[:, 0]


def test_mobilenet_loads_the_published_file_to_the_last_tensor(shared):
    path = shared / "datasets" / "weights" / "mobilenet_v2_tf-a3761d30.pth"
    built = backbone("mobilenet_v2", padding="tensorflow")
    load(built, path, MOBILENET)
    published = torch.load(path, weights_only=True)
    own = built.body.state_dict()
    assert set(published) - set(own) == {"classifier.1.weight", "classifier.1.bias"}
    assert all(torch.equal(own[name], published[name]) for name in own)
