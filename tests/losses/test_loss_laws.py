"""What every loss must do on any batch: stay finite, widen half precision, add no B^3 tensor."""

import ast

import dmlbench.losses
import pytest
import torch
from dmlbench import own_parts, part_files, registry
from dmlbench.errors import UserError
from dmlbench.losses import available, build_loss
from dmlbench.tuples import all_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_batches import EMBEDDING_DIM, LABELS, NUM_CLASSES, batch, value_and_gradients
from torch.utils._python_dispatch import TorchDispatchMode

LOSSES = available()
IN_BLOCKS = ["smooth_ap", "recall_at_k_surrogate"]  # of anchors, B x B each
MIN_FLOAT16 = 6e-5


def built(name, num_classes=NUM_CLASSES, embedding_dim=EMBEDDING_DIM):
    torch.manual_seed(0)
    return build_loss(name, num_classes=num_classes, embedding_dim=embedding_dim)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("labels", LABELS)
def test_value_and_gradients_are_finite_in_float32(name, labels):
    x, y = batch(labels)
    results = value_and_gradients(built(name), x.float(), y)
    assert all(result.isfinite().all() for result in results)


@pytest.mark.parametrize("name", LOSSES)
def test_all_embeddings_equal_have_finite_gradients(name):
    x = torch.ones(9, EMBEDDING_DIM)
    y = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2])
    results = value_and_gradients(built(name), x, y)
    assert all(result.isfinite().all() for result in results)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", LOSSES)
def test_half_precision_is_widened(name, dtype):
    # squared lengths of 80,000 overflow float16; the loss must see them in float32
    x, y = batch("unequal classes, odd size")
    x = (x * 115).to(dtype)
    loss = built(name)
    half = value_and_gradients(loss, x, y)
    full = value_and_gradients(loss, x.float(), y)
    assert half[0].dtype == torch.float32
    torch.testing.assert_close(half[0], full[0])
    torch.testing.assert_close(half[1], full[1].to(dtype), rtol=3e-2, atol=MIN_FLOAT16)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "n_pair_one_per_class"])
def test_order_of_the_batch_does_not_matter(name):
    x, y = batch("unequal classes, odd size")
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    loss = built(name).double()
    torch.testing.assert_close(loss(x, y), loss(x[order], y[order]))


@pytest.mark.parametrize("name", LOSSES)
def test_annotation_says_what_the_loss_is_given(name):
    forward = part_files.method_of("losses", name, "forward")
    names = [argument.arg for argument in forward.args.args]
    assert names[:3] == ["self", "embeddings", "labels"]
    if len(names) == 4:
        assert names[3] == "tuples"
        assert ast.unparse(forward.args.args[3].annotation) in ("Pairs | None", "Triplets | None")


class _LargestTensor(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.entries = max(self.entries, tensor.untyped_storage().nbytes() // 4)
        return result


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in IN_BLOCKS])
def test_no_tensor_is_larger_than_a_few_matrices_of_the_batch(name):
    B = 96
    x = torch.randn(B, 8, requires_grad=True)
    loss = built(name, num_classes=B, embedding_dim=8)
    with _LargestTensor() as largest:
        loss(x, torch.arange(B) // 3).backward()
    # int64 indices count twice, SoftTriple has ten centers a class, two histograms have 2 x 65 bins
    assert largest.entries <= 16 * B * B


def test_ranking_losses_work_in_blocks(monkeypatch):
    x, y = batch("unequal classes, odd size")
    for name in IN_BLOCKS:
        expected = value_and_gradients(built(name), x, y)
        monkeypatch.setattr("dmlbench.losses._ranks._ENTRIES", 250)
        torch.testing.assert_close(value_and_gradients(built(name), x, y), expected)
        monkeypatch.undo()


# can2019, proposition 4.1: embeddings in which positives are nearer than eps_plus and negatives
# farther than eps_minus minimize the three losses, whose minimum is zero
feasible = st.tuples(
    st.integers(2, 5), st.integers(1, 4), st.floats(0.01, 0.4), st.integers(0, 2**31)
)


def feasible_embeddings(classes, images, eps_plus, seed):
    generator = torch.Generator().manual_seed(seed)
    centers = 3.0 * torch.eye(classes, 8, dtype=torch.float64)  # 3 sqrt(2) apart
    offsets = torch.randn(classes, images, 8, generator=generator, dtype=torch.float64)
    offsets *= eps_plus / 2 / offsets.norm(dim=2, keepdim=True)
    return (centers[:, None] + offsets).flatten(0, 1), torch.arange(classes).repeat_interleave(
        images
    )


@settings(max_examples=25, deadline=None)
@given(feasible)
def test_a_feasible_embedding_has_zero_loss(case):
    classes, images, eps_plus, seed = case
    x, y = feasible_embeddings(classes, images, eps_plus, seed)
    d = torch.cdist(x, x)
    positive, negative = all_pairs(y)
    eps_plus = float(d[positive].max()) if positive.any() else eps_plus
    eps_minus = float(d[negative].min())
    middle, half = (eps_plus + eps_minus) / 2, (eps_minus - eps_plus) / 2
    facts = {"num_classes": classes, "embedding_dim": 8}
    zero = [
        build_loss("margin", **facts, beta=middle, margin=half - 1e-6),
        build_loss("margin", **facts, beta=middle, margin=half - 1e-9, learned=False),
        build_loss("triplet_nonzero", **facts, margin=eps_minus - eps_plus - 1e-9),
        build_loss("ranking", **facts, margin=eps_minus - eps_plus - 1e-9),
        build_loss("facenet", **facts, margin=eps_minus**2 - eps_plus**2 - 1e-9),
        build_loss(
            "contrastive_euclidean",
            **facts,
            margin=eps_minus - 1e-9,
            positive_margin=eps_plus + 1e-9,
        ),
    ]
    for loss in zero:
        assert loss.double()(x, y).item() == 0, type(loss).__name__
    # can2019's contrastive loss goes to zero with eps_plus: it is at most eps_plus squared
    contrastive = build_loss("contrastive_squared", **facts, margin=eps_minus)
    assert contrastive(x, y).item() <= eps_plus**2 + 1e-12


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("contrastive", {"margin": float("nan")}, "margin is nan"),
        ("multi_similarity", {"alpha": 0}, "alpha is 0"),
        ("n_pair", {"l2": -1}, "l2 is -1"),
        ("arcface", {"margin": 200}, "margin is 200"),
        ("soft_triple", {"centers_per_class": 0}, "centers_per_class is 0"),
        ("histogram", {"bins": 1}, "bins is 1"),
        ("margin", {"beta": -1}, "beta is -1"),
        ("recall_at_k_surrogate", {"ks": ()}, "ks is ()"),
        ("proxy_anchor", {"alpha": "32"}, "alpha is '32'"),
    ],
)
def test_a_bad_hyperparameter_is_named(name, given, named):
    with pytest.raises(UserError) as error:
        build_loss(name, num_classes=4, embedding_dim=3, **given)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder of the user's, whose losses are found."""
    monkeypatch.setattr(own_parts, "_in_use", {})
    monkeypatch.setattr(dmlbench.losses, "__path__", list(dmlbench.losses.__path__))
    (tmp_path / "own" / "losses").mkdir(parents=True)
    return tmp_path / "own" / "losses"


def test_the_template_is_a_loss(own):
    source = (part_files._LIBRARY / "losses" / "_template.py").read_text()
    (own / "from_template.py").write_text(source.replace("class Template", "class FromTemplate"))
    own_parts.use([own.parent])
    assert "from_template" in available()
    loss = build_loss("from_template", num_classes=3, embedding_dim=EMBEDDING_DIM, margin=0.2)
    x, y = batch("unequal classes, odd size")
    assert value_and_gradients(loss, x, y)[0].isfinite()


def test_a_loss_of_the_user_derives_from_one_of_the_library_and_has_a_version(own):
    imports = "from dmlbench.losses.triplet import Triplet\nVERSION = 3\n"
    (own / "derived.py").write_text(f"{imports}class Derived(Triplet):\n    pass\n")
    own_parts.use([own.parent])
    assert registry.options("losses", "derived") == registry.options("losses", "triplet")
    assert registry.version("losses", "derived") == 3
    loss = build_loss("derived", num_classes=3, embedding_dim=EMBEDDING_DIM)
    known = build_loss("triplet", num_classes=3, embedding_dim=EMBEDDING_DIM)
    x, y = batch("unequal classes, odd size")
    assert torch.equal(loss(x, y), known(x, y))


def test_a_loss_of_the_user_has_a_name_of_its_own(own):
    (own / "triplet.py").write_text("class Triplet:\n    pass\n")
    own_parts.use([own.parent])
    said = r"own/losses/triplet\.py: losses has triplet already; allowed: a name of its own"
    with pytest.raises(UserError, match=said):
        part_files.check_names(own.parent)
    # The library's is the one that is built.
    assert build_loss("triplet", num_classes=3, embedding_dim=EMBEDDING_DIM).margin


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", LOSSES)
def test_the_host_does_not_wait_for_the_gpu(name):
    x, y = batch("unequal classes, odd size")
    loss = built(name)
    expected = value_and_gradients(loss, x.float(), y)
    loss, x, y = loss.cuda(), x.float().cuda(), y.cuda()
    value_and_gradients(loss, x, y)
    torch.cuda.set_sync_debug_mode("error")
    try:
        got = value_and_gradients(loss, x, y)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    got = [result.cpu() for result in got]
    torch.testing.assert_close(got, expected, atol=1e-3, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_compiles_without_a_graph_break(name):
    x, y = batch("unequal classes, odd size")
    loss = built(name)
    expected = value_and_gradients(loss, x.float(), y)
    torch.compiler.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(value_and_gradients(compiled, x.float(), y), expected)
