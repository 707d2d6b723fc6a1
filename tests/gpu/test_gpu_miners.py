"""Every miner and regularizer on a pretended GPU: the same tuples and penalties as on the CPU."""

import pytest
import torch
from dmlbench.miners import available, build_miner
from dmlbench.regularizers import available as regularizers
from dmlbench.regularizers import build_regularizer
from pretended_gpu import held_on_gpu, host_waits, on_gpu, pretended_gpu

LABELS = torch.arange(24) // 4
EMBEDDINGS = torch.nn.functional.normalize(
    torch.randn(24, 8, generator=torch.Generator().manual_seed(0))
)


def same_there(function, *given):
    """Raise unless a function of tensors gives the same on the GPU, and leaves it there.

    And unless the host does not wait for the GPU meanwhile.
    """
    torch.manual_seed(1)
    here = function(*given)
    with pretended_gpu():
        torch.manual_seed(1)
        given = on_gpu(given)
        with host_waits() as waits:
            there = function(*given)
        assert waits == []
        assert held_on_gpu(there)
        there = [each.cpu() for each in ([there] if torch.is_tensor(there) else there)]
    here = [here] if torch.is_tensor(here) else here
    for mine, reference in zip(there, here, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", available())
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_miner_is_the_same_there(name, dtype):
    same_there(build_miner(name), EMBEDDINGS.to(dtype), LABELS)


@pytest.mark.parametrize("name", ["rho", "rho_anchor"])
@pytest.mark.parametrize("miner", ["all_valid", "semi_hard"])
def test_an_exchange_of_tuples_is_the_same_there(name, miner):
    regularizer = build_regularizer(name, p_switch=0.5)
    same_there(lambda x, y: regularizer(build_miner(miner)(x, y)), EMBEDDINGS, LABELS)


def test_the_length_of_embeddings_is_the_same_there():
    same_there(build_regularizer("embedding_l2"), EMBEDDINGS)


def test_the_way_of_weights_is_the_same_there():
    def penalty(start, now):
        regularizer = build_regularizer("proximity", weight=10.0)
        regularizer.snapshot([start])
        restored = build_regularizer("proximity", weight=10.0)
        restored.load_state_dict(regularizer.state_dict())
        return restored([now])

    same_there(penalty, EMBEDDINGS, 2 * EMBEDDINGS)


def mixed(regularizer):
    def loss(images, labels):
        network = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 4))
        for number, parameter in enumerate(network.parameters()):
            torch.nn.init.constant_(parameter, 0.1 * (number + 1))
        network.to(images.device, non_blocking=True)
        with regularizer.mixing([network, *network], len(images)) as mixture:
            embeddings = network(images)
        return mixture.loss(lambda x, y: (x.sum(1) * y).mean(), embeddings, labels)

    return loss


def test_a_mixed_batch_is_the_same_there():
    same_there(mixed(build_regularizer("manifold_mixup")), EMBEDDINGS, LABELS)


def test_all_regularizers_are_tried_here():
    tried = {"rho", "rho_anchor", "embedding_l2", "proximity", "manifold_mixup"}
    assert tried == set(regularizers())


def test_a_mistake_in_a_miner_is_found(monkeypatch):
    from dmlbench.miners import hard

    monkeypatch.setattr(hard, "all_pairs", _from_the_cpu(hard.all_pairs))
    with pytest.raises(RuntimeError):
        same_there(build_miner("hard"), EMBEDDINGS, LABELS)


def test_a_mistake_in_a_regularizer_is_found(monkeypatch):
    from dmlbench.regularizers import _switch

    def drawn(shape, device):
        return torch.rand(shape)

    monkeypatch.setattr(_switch, "torch", _Torch(rand=drawn))
    with pytest.raises(RuntimeError):
        same_there(
            lambda x, y: build_regularizer("rho")(build_miner("hard")(x, y)), EMBEDDINGS, LABELS
        )


def _from_the_cpu(function):
    return lambda labels: function(labels.cpu())


class _Torch:
    """torch with some functions of one's own."""

    def __init__(self, **own):
        vars(self).update(own)

    def __getattr__(self, name):
        return getattr(torch, name)
