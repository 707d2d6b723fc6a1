"""Each regularizer against its formula, and the exchange of tuples by brute force."""

import io

import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.miners import build_miner
from dmlbench.regularizers import available, build_regularizer
from dmlbench.tuples import Pairs, all_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import nn

SETTINGS = settings(max_examples=60, deadline=None)


def triplets_of(mined):
    return {(i, j, int(mined.negative[i, j])) for i, j in mined.valid.nonzero().tolist()}


def pairs_of(mask):
    return {(i, j) for i, j in mask.nonzero().tolist()}


@st.composite
def mined(draw):
    """A batch's labels and random triplets of it."""
    size = draw(st.integers(1, 9))
    labels = torch.tensor(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    torch.manual_seed(draw(st.integers(0, 1000)))
    miner = build_miner("random", positives=draw(st.sampled_from(["one", "all"])))
    return labels, miner(torch.zeros(size, 2), labels)


def test_the_set():
    assert available() == ("embedding_l2", "manifold_mixup", "proximity", "rho", "rho_anchor")


@SETTINGS
@given(mined(), st.sampled_from([0.0, 0.4, 1.0]))
def test_rho_exchanges_positive_and_negative(batch, p_switch):
    regularizer = build_regularizer("rho", p_switch=p_switch)
    before, after = triplets_of(batch[1]), triplets_of(regularizer(batch[1]))
    exchanged = {(a, n, p) for a, p, n in before}
    assert after <= before | exchanged
    assert len(after) == len(before)
    for a, p, n in before:
        assert ((a, p, n) in after) != ((a, n, p) in after)
    if p_switch == 0:
        assert after == before
    if p_switch == 1:
        # All, but for those whose new positive another exchange of the anchor has taken.
        assert len(after - before) == len({(a, n) for a, _, n in before})


@SETTINGS
@given(mined(), st.sampled_from([0.0, 0.4, 1.0]))
def test_rho_anchor_pushes_a_positive_from_its_anchor(batch, p_switch):
    regularizer = build_regularizer("rho_anchor", p_switch=p_switch)
    before, after = triplets_of(batch[1]), triplets_of(regularizer(batch[1]))
    assert len(after) == len(before)
    switched = {(a, p) for a, p, n in before if (a, a, p) in after}
    assert after == {(a, p, n) for a, p, n in before if (a, p) not in switched} | {
        (a, a, p) for a, p in switched
    }
    anchors = {a for a, _, _ in before}
    assert len(switched) == {0.0: 0, 1.0: len(anchors)}.get(p_switch, len(switched))


@SETTINGS
@given(mined(), st.sampled_from(["rho", "rho_anchor"]), st.sampled_from([0.0, 0.4, 1.0]))
def test_pairs_keep_their_anchor(batch, name, p_switch):
    before = all_pairs(batch[0])
    after = build_regularizer(name, p_switch=p_switch)(before)
    assert not (after.positive & after.negative).any()
    gone, new = before.positive & ~after.positive, after.positive & ~before.positive
    assert not (gone & ~after.negative).any()
    if name == "rho":
        assert not (new & ~before.negative).any()
        assert torch.equal(gone.sum(1), new.sum(1))
        assert torch.equal(after.negative, (before.negative & ~new) | gone)
    else:
        assert not new.any()
        assert torch.equal(after.negative.sum(1), before.negative.sum(1))
    if p_switch == 0:
        assert torch.equal(after.positive, before.positive)
        assert torch.equal(after.negative, before.negative)


@pytest.mark.parametrize("name", ["rho", "rho_anchor"])
def test_p_switch_is_the_frequency_and_one_graph_computes_it(name):
    """One positive an anchor, as in SPC-2: no exchange can meet another."""
    labels = torch.arange(200) // 2
    torch.manual_seed(0)
    before = build_miner("random")(torch.zeros(200, 2), labels)
    regularizer = build_regularizer(name, p_switch=0.3)
    compiled = torch.compile(regularizer.__call__, backend="eager", fullgraph=True)
    switched = sum(int((before.valid & ~compiled(before).valid).sum()) for _ in range(20))
    assert stats.binomtest(switched, 4000, 0.3).pvalue > 1e-4
    assert isinstance(compiled(all_pairs(labels)), Pairs)


@pytest.mark.parametrize("per_class", [2, 5])
def test_tuples_with_one_negative_are_exchanged_once(per_class):
    """The rate that the docstring states: here each anchor's nearest negative serves all tuples."""
    torch.manual_seed(0)
    labels = torch.arange(20 * per_class) // per_class
    centers = torch.nn.functional.normalize(torch.randn(20, 32, dtype=torch.float64))[labels]
    embeddings = torch.nn.functional.normalize(centers + 0.01 * torch.randn_like(centers))
    before = build_miner("semi_hard")(embeddings, labels)
    k, p = per_class - 1, 0.35
    assert before.valid.sum() == k * len(labels)
    regularizer = build_regularizer("rho", p_switch=p)
    switched = sum(int((before.valid & ~regularizer(before).valid).sum()) for _ in range(40))
    assert stats.binomtest(switched, 40 * len(labels), 1 - (1 - p) ** k).pvalue > 1e-4


def test_embedding_l2_is_the_mean_squared_norm():
    embeddings = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    penalty = build_regularizer("embedding_l2", weight=0.02)(embeddings)
    expected = 0.02 / 7 * sum(float(x @ x) for x in embeddings.detach())
    assert penalty.item() == pytest.approx(expected)
    penalty.backward()
    torch.testing.assert_close(embeddings.grad, 0.04 / 7 * embeddings.detach())
    assert build_regularizer("embedding_l2")(torch.full((2, 512), 100.0).half()).isfinite()


def test_proximity_pulls_towards_the_snapshot():
    network = nn.Linear(3, 2).double()
    regularizer = build_regularizer("proximity", weight=0.1)
    regularizer.snapshot(network.parameters())
    assert regularizer(network.parameters()).item() == 0

    start = [parameter.detach().clone() for parameter in network.parameters()]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.randn_like(parameter)
    file = io.BytesIO()
    torch.save(regularizer.state_dict(), file)
    resumed = build_regularizer("proximity", weight=0.1)
    resumed.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    penalty = resumed(network.parameters())
    far = sum(
        float((now.detach() - before).norm() ** 2)
        for now, before in zip(network.parameters(), start, strict=True)
    )
    assert penalty.item() == pytest.approx(0.05 * far)
    penalty.backward()
    for now, before in zip(network.parameters(), start, strict=True):
        torch.testing.assert_close(now.grad, 0.1 * (now.detach() - before))


def test_proximity_without_a_snapshot_says_so():
    with pytest.raises(UserError, match="no snapshot"):
        build_regularizer("proximity")([torch.zeros(2)])


def test_manifold_mixup_mixes_what_enters_the_drawn_stage():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double()
    images = torch.randn(5, 4, dtype=torch.float64)
    regularizer = build_regularizer("manifold_mixup")
    for depth in range(3):
        with regularizer.mixing([network[depth]], 5) as mixture:
            found = network(images)
        hidden = network[:depth](images)
        mixed = mixture.weight * hidden + (1 - mixture.weight) * hidden[mixture.partner]
        torch.testing.assert_close(found, network[depth:](mixed))
        assert sorted(mixture.partner.tolist()) == list(range(5))
    torch.testing.assert_close(network(images), network[2](network[:2](images)))


def test_manifold_mixup_leaves_no_hook_after_an_error():
    network = nn.Linear(4, 2)
    with pytest.raises(RuntimeError), build_regularizer("manifold_mixup").mixing([network], 5):
        network(torch.zeros(5, 3))
    assert not network._forward_pre_hooks


def test_manifold_mixup_draws_every_stage_and_a_beta_weight():
    torch.manual_seed(0)
    regularizer = build_regularizer("manifold_mixup", alpha=2.0)
    weights = [regularizer.draw(3).weight for _ in range(2000)]
    assert stats.kstest(weights, stats.beta(2, 2).cdf).pvalue > 1e-4
    stages = [nn.Identity() for _ in range(3)]
    hooked = set()
    for _ in range(40):
        with regularizer.mixing(stages, 2):
            hooked |= {i for i, stage in enumerate(stages) if stage._forward_pre_hooks}
    assert hooked == {0, 1, 2}


def test_manifold_mixup_shares_the_loss_between_both_labels():
    """Equation 31 with a triplet loss over all triplets, by loops over both label entries."""
    torch.manual_seed(1)
    embeddings = torch.randn(6, 3, dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    mixture = build_regularizer("manifold_mixup").draw(6)

    def criterion(x, y):
        total = x.new_zeros(())
        for a in range(6):
            for p in range(6):
                for n in range(6):
                    if a != p and y[a] == y[p] != y[n]:
                        total = total + ((x[a] - x[p]).norm() - (x[a] - x[n]).norm() + 0.2).relu()
        return total

    both = [labels, labels[mixture.partner]]
    weights = [mixture.weight, 1 - mixture.weight]
    expected = sum(w * criterion(embeddings, y) for w, y in zip(weights, both, strict=True))
    torch.testing.assert_close(mixture.loss(criterion, embeddings, labels), expected)


@pytest.mark.parametrize(
    ("name", "hyperparameters"),
    [
        ("rho", {"p_switch": 1.5}),
        ("rho_anchor", {"p_switch": -0.1}),
        ("embedding_l2", {"weight": -1.0}),
        ("proximity", {"weight": float("inf")}),
        ("manifold_mixup", {"alpha": 0.0}),
    ],
)
def test_a_bad_value_is_one_line(name, hyperparameters):
    ((key, value),) = hyperparameters.items()
    with pytest.raises(
        UserError, match=f"^regularizers/{name}: {key} is {value}; allowed"
    ) as error:
        build_regularizer(name, **hyperparameters)
    assert "\n" not in str(error.value)
