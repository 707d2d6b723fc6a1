"""Every loss compiled, under torch.func, copied, pickled, restored, and in each precision."""

import copy
import io
import pickle

import pytest
import torch
from dmlbench.losses import available, build_loss
from dmlbench.losses._geometry import indicator
from loss_batches import EMBEDDING_DIM, NUM_CLASSES, batch, value_and_gradients
from torch._inductor import config as inductor_config

LOSSES = available()
# One of each autograd step and of each way to form tuples: the fast tests trace these alone.
REPRESENTATIVE = ("contrastive", "proxy_anchor", "ratio", "soft_triple")
x, y = batch("three classes of four")
x = x.float()


def built(name, seed=0):
    torch.manual_seed(seed)
    return build_loss(name, num_classes=NUM_CLASSES, embedding_dim=EMBEDDING_DIM)


def check_compiled(name, backend):
    torch.compiler.reset()
    compiled = torch.compile(built(name), fullgraph=True, backend=backend)
    torch.testing.assert_close(
        value_and_gradients(compiled, x, y), value_and_gradients(built(name), x, y)
    )


most_are_slow = pytest.mark.parametrize(
    "name",
    [
        *REPRESENTATIVE,
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in LOSSES
            if name not in REPRESENTATIVE
        ),
    ],
)


@most_are_slow
def test_traced_as_one_graph_a_loss_and_its_gradient_are_the_same(name):
    check_compiled(name, "aot_eager")


@pytest.mark.skipif(torch.__version__ < "2.6", reason="torch 2.5 exports no step of autograd")
@most_are_slow
def test_exported_a_loss_has_the_same_value(name):
    """Without its gradient: an exported graph lacks the backward steps that losses define."""
    exported = torch.export.export(built(name), (x, y)).module()
    torch.testing.assert_close(exported(x, y), built(name)(x, y))


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    """Inductor in this process, with a cache of its own.

    Its headers are compiled once, in 18 s of one core; a loss then takes about 5 s. Worker
    processes would each import torch first.
    """
    folder = str(tmp_path_factory.mktemp("inductor"))
    with pytest.MonkeyPatch.context() as patch, inductor_config.patch(compile_threads=1):
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", folder)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_compiled_a_loss_and_its_gradient_are_the_same(compiler, name):
    check_compiled(name, "inductor")


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradients_of_torch_func_are_those_of_autograd(name):
    loss = built(name)
    value, *gradients = value_and_gradients(loss, x, y)
    (of_x, of_parameters), again = torch.func.grad_and_value(
        lambda x, parameters: torch.func.functional_call(loss, parameters, (x, y)), argnums=(0, 1)
    )(x, dict(loss.named_parameters()))
    torch.testing.assert_close([again, of_x, *of_parameters.values()], [value, *gradients])


@pytest.mark.parametrize("name", LOSSES)
def test_copies_pickles_and_restored_states_give_the_same_loss(name):
    loss = built(name)
    expected = value_and_gradients(loss, x, y)
    restored = built(name, seed=1)
    restored.load_state_dict(loss.state_dict(), strict=True)
    saved = io.BytesIO()
    torch.save(loss, saved)
    others = {
        "deepcopy": copy.deepcopy(loss),
        "pickle": pickle.loads(pickle.dumps(loss)),
        "torch.save": torch.load(io.BytesIO(saved.getvalue()), weights_only=False),
        "state_dict": restored,
    }
    for other in others.values():
        torch.testing.assert_close(value_and_gradients(other, x, y), expected, rtol=0, atol=0)
        # A copy has parameters of its own.
        for theirs, ours in zip(other.parameters(), loss.parameters(), strict=True):
            assert theirs is not ours
            theirs.data.fill_(0.5)
    torch.testing.assert_close(value_and_gradients(loss, x, y), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", LOSSES)
def test_embeddings_of_any_floating_point_type_give_a_loss_of_its_precision(name):
    exact = value_and_gradients(built(name).double(), x.half().double(), y)
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float16, 2e-3)):
        value, gradient, *_ = value_and_gradients(built(name), x.half().to(dtype), y)
        assert (value.dtype, gradient.dtype) == (torch.float32, dtype)
        torch.testing.assert_close(value.double(), exact[0], rtol=1e-4, atol=1e-4)
        scale = exact[1].abs().max().item()
        torch.testing.assert_close(
            gradient.double(), exact[1], rtol=0, atol=tolerance * max(scale, 0.01)
        )


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32])
def test_masks_of_numbers_are_taken_as_bools_are(dtype):
    chosen = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) < 0.5
    for found in (chosen.to(dtype), chosen):
        assert torch.equal(indicator(found, torch.float64), torch.where(chosen, 1.0, 0.0).double())
