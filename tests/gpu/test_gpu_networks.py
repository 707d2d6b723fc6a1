"""Every network forward and backward on a pretended GPU, in float32 and by autocast."""

from pathlib import Path

import pytest
import torch
import yaml
from dmlbench.networks import embedder
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from pretended_gpu import held_on_gpu, pretended_gpu
from toy_training import VALUES

CATALOGUE = yaml.safe_load(
    (Path(__file__).resolve().parents[2] / "config" / "networks.yaml").read_text()
)
SMALL = ["convnet3", "convnet4", "convnet4_small"]
TRAINED = [name for name in CATALOGUE if name not in SMALL and "frozen" not in CATALOGUE[name]]


def network(name, **changes):
    entry = {key: value for key, value in CATALOGUE[name].items() if key not in NO_RESULT}
    if isinstance(entry["backbone"], str):
        entry["backbone"] = {"name": entry["backbone"]}
    torch.manual_seed(0)
    values = {**VALUES, "network": {"pooling": "average", **entry}, **changes}
    return Embedder(Spec.model_validate(merged(values, {})))


NO_RESULT = ("title", "threads", "weights")


def embeddings_and_gradients(one, images):
    one.train()
    torch.manual_seed(1)  # of dropout
    embeddings = one(images)
    embeddings[:, 0].sum().backward()
    return [embeddings.detach(), *(p.grad for p in one.parameters() if p.grad is not None)]


def hold(name, pixels, **changes):
    """Raise unless embeddings and gradients are the CPU's; by autocast, within bfloat16's reach."""
    channels = len(CATALOGUE[name]["mean"])
    images = torch.rand(3, channels, pixels, pixels, generator=torch.Generator().manual_seed(0))
    expected = embeddings_and_gradients(network(name, **changes), images)
    with pretended_gpu() as gpu:
        found = embeddings_and_gradients(network(name, **changes).to(gpu), images.to(gpu))
        assert held_on_gpu(found)
        assert found[0].dtype == torch.float32
        found = [each.cpu() for each in found]
    assert len(found) == len(expected)
    if changes.get("precision") == "bfloat16":
        # CUDA's autocast keeps other operations in float32 than the CPU's does.
        torch.testing.assert_close(found[0], expected[0], rtol=0, atol=0.05)
        return
    for mine, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_small_network_is_the_same_there(name, precision):
    hold(name, 28, precision=precision)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_large_network_is_the_same_there(name, precision):
    hold(name, 224, precision=precision)


@pytest.mark.parametrize("frozen", ["none", "statistics", "both"])
def test_frozen_batchnorm_is_the_same_there(frozen):
    hold("convnet3", 28, frozen_batchnorm=frozen)


def test_a_mistake_is_found(monkeypatch):
    def beside(maps):
        return maps.mean(dim=(2, 3)) + torch.zeros(len(maps), maps.shape[1])

    monkeypatch.setitem(embedder.POOLING, "average", beside)
    with pytest.raises(RuntimeError, match="same device"):
        hold("convnet3", 28)


def test_a_mistake_of_precision_is_found(monkeypatch):
    forward = Embedder.forward
    monkeypatch.setattr(
        Embedder, "forward", lambda self, x: forward(self, x) * (1.01 if x.is_cuda else 1)
    )
    with pytest.raises(AssertionError):
        hold("convnet3", 28)
