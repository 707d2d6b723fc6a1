"""The pretended GPU refuses what a GPU refuses, and computes what the CPU computes."""

import io

import numpy as np
import pytest
import torch
from pretended_gpu import PretendedTensor, held_on_gpu, host_waits, on_gpu, pretended_gpu


@pytest.fixture
def gpu():
    with pretended_gpu() as device:
        yield device


def test_it_says_where_it_is(gpu):
    x = torch.ones(3).to(gpu)
    assert x.is_cuda
    assert not x.is_cpu
    assert (x + 1).device == torch.zeros(2, device=gpu).device == torch.device("cuda:0")
    assert x.cpu().is_cpu
    assert torch.cuda.is_available()
    assert held_on_gpu([x, x + 1])
    assert not held_on_gpu([x, torch.ones(1)])


@pytest.mark.parametrize(
    "mistake",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.stack([x[0], torch.tensor(1.0)]),
        lambda x: torch.where(torch.ones(3, dtype=torch.bool), x, 0),
        lambda x: torch.ones(3)[x.long()],
        lambda x: x.numpy(),
        lambda x: np.asarray(x),
        lambda x: x.pin_memory(),
        lambda x: torch.rand(3, device=x.device, generator=torch.Generator()) + x,
        lambda x: x.uniform_(generator=torch.Generator()),
        lambda x: torch.add(x, 1, out=torch.empty(3)),
    ],
)
def test_what_a_gpu_refuses_is_refused(gpu, mistake):
    with pytest.raises((RuntimeError, TypeError)):
        mistake(torch.ones(3).to(gpu))


def pooled_to(size):
    return lambda x: torch.nn.functional.adaptive_avg_pool2d(x, size).sum().backward()


@pytest.mark.parametrize(
    "mistake",
    [
        pooled_to(2),
        lambda x: torch.nn.functional.adaptive_max_pool2d(x, 1).sum().backward(),
        lambda x: x.flatten().histc(3),
        lambda x: x.flatten().median(0),
        lambda x: torch.bincount(x.flatten().long(), x.flatten()),
        lambda x: x[0, 0].scatter_reduce(1, torch.zeros_like(x[0, 0]).long(), x[0, 0], "prod"),
    ],
)
def test_what_a_gpu_cannot_repeat_is_refused(gpu, mistake):
    x = torch.ones(1, 1, 4, 4).to(gpu).requires_grad_()
    with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
        mistake(x)
    torch.set_deterministic_debug_mode("default")
    mistake(x)


@pytest.mark.parametrize(
    "repeatable",
    [
        pooled_to(1),
        lambda x: torch.nn.functional.max_pool2d(x, 2).sum().backward(),
        lambda x: x.flatten().cumsum(0),
        lambda x: x.flatten().median(),
        lambda x: torch.bincount(x.flatten().long()),
        lambda x: x[0, 0].scatter_reduce(1, torch.zeros_like(x[0, 0]).long(), x[0, 0], "amax"),
        lambda x: x[0, 0].scatter_add(1, torch.zeros_like(x[0, 0]).long(), x[0, 0]),
    ],
)
def test_what_a_gpu_can_repeat_is_allowed(gpu, repeatable):
    repeatable(torch.ones(1, 1, 4, 4).to(gpu).requires_grad_())


@pytest.mark.parametrize(
    ("waiting", "waits"),
    [
        (lambda x: float(x[0]), ["_local_scalar_dense"]),
        (lambda x: x.tolist(), ["tolist"]),
        (lambda x: x.cpu(), ["_to_copy"]),
        (lambda x: torch.ones(3).to(x.device), ["_to_copy"]),
        (lambda x: x.copy_(torch.ones(3)), ["copy_"]),
        (lambda x: x[x > 0], ["index"]),
        (lambda x: (x > 0).nonzero(), ["nonzero"]),
        (lambda x: torch.repeat_interleave(x.long()), ["repeat_interleave"]),
        (lambda x: torch.ones(3).to(x.device, non_blocking=True), []),
        (lambda x: x.copy_(torch.ones(3), non_blocking=True), []),
        (lambda x: x.masked_fill(x > 0, 2), []),
        (lambda x: x[x.argsort()].cumsum(0).max(0), []),
        (lambda x: torch.zeros(3, device=x.device), []),
    ],
)
def test_it_tells_where_the_host_waits(gpu, waiting, waits):
    x = torch.ones(3).to(gpu)
    with host_waits() as seen:
        waiting(x)
    assert seen == waits


def test_what_a_gpu_allows_is_allowed(gpu):
    x = torch.arange(3.0).to(gpu)
    assert (x * torch.tensor(2.0)).tolist() == [0, 2, 4]
    assert x[torch.tensor([2, 0])].tolist() == [2, 0]
    x[torch.tensor([0])] = 5
    assert x.tolist() == [5, 1, 2]
    assert float(x.sum()) == 8
    assert torch.ones(3).copy_(x).is_cpu


def test_gradients_are_on_the_gpu(gpu):
    weight = torch.nn.Parameter(torch.ones(2).to(gpu))
    (weight.square().sum() * 2).backward()
    assert isinstance(weight.grad, PretendedTensor)
    assert weight.grad.tolist() == [4, 4]


def test_it_draws_from_a_generator_of_its_own(gpu):
    torch.manual_seed(3)
    host = torch.rand(2)
    assert torch.equal(torch.rand(2, device=gpu).cpu(), host)
    state = torch.cuda.get_rng_state()
    drawn = torch.rand(2, device=gpu).cpu()
    torch.rand(5)
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(2, device=gpu).cpu(), drawn)


def test_it_autocasts_products(gpu):
    layer = torch.nn.Linear(4, 2).to(gpu)
    x = torch.ones(3, 4).to(gpu)
    with torch.autocast("cuda", torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    assert layer(x).dtype == torch.float32


def test_a_checkpoint_of_it_is_one_of_the_cpu(gpu):
    file = io.BytesIO()
    torch.save({"x": on_gpu(torch.ones(2))}, file)
    file.seek(0)
    assert torch.load(file, map_location="cpu", weights_only=True)["x"].is_cpu


def test_outside_it_is_gone():
    with pretended_gpu():
        pass
    assert torch.cuda.is_available() == (torch.cuda.device_count() > 0)
