"""What people hold labels and embeddings in is taken as it is, or refused in one line."""

import numpy as np
import pytest
import torch
from dmlbench import losses, miners, samplers
from dmlbench.errors import UserError
from dmlbench.samplers._memory import EmbeddingMemory

x = torch.nn.functional.normalize(torch.randn(12, 6, generator=torch.Generator().manual_seed(0)))
NAMES = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
FORMS = {
    "a list": NAMES,
    "a tuple": tuple(NAMES),
    "a list of tensors": list(torch.tensor(NAMES)),
    "an array of 8 bits": np.array(NAMES, dtype=np.int8),
    "an array without signs": np.array(NAMES, dtype=np.uint64),
    "an array in another byte order": np.array(NAMES, dtype=">i4"),
    "a tensor of 16 bits": torch.tensor(NAMES, dtype=torch.int16),
    "a tensor without signs": torch.tensor(NAMES).to(torch.uint32),
}
REFUSED = {
    "floating-point numbers": (torch.tensor(NAMES) / 2, "labels: "),
    "an array of floating-point numbers": (np.array(NAMES) / 2, "labels: float64; allowed: int"),
    "names": ([str(name) for name in NAMES], "labels: <U1; allowed: integers"),
    "lists of different lengths": ([[0], [1, 2]], "labels: setting an array element with a seq"),
    "truth values": ([name > 0 for name in NAMES], "labels: bool; allowed: integers"),
    "a column": (np.array(NAMES)[:, None], r"labels: shape \(12, 1\); allowed: "),
    "nothing": ([], r"labels: shape \(0,\); allowed: "),
    "a sparse tensor": (torch.tensor(NAMES).to_sparse(), "labels: .*parse"),
}
USERS = [
    *(("losses", name) for name in ("contrastive", "triplet", "proxy_anchor", "margin_per_class")),
    *(("miners", name) for name in ("all_valid", "hard", "random", "distance_weighted")),
    *(("samplers", name) for name in samplers.available()),
]


def used(kind, name, labels, embeddings=x):
    """Everything that a loss, a miner or a sampler makes of the labels."""
    torch.manual_seed(0)
    if kind == "losses":
        return [losses.build_loss(name, num_classes=3, embedding_dim=6)(embeddings, labels)]
    if kind == "miners":
        return list(miners.build_miner(name)(embeddings, labels))
    sampler = samplers.build_sampler(name, labels, batch_size=6, **SAMPLER.get(name, {}))
    return [getattr(batch, "rows", batch) for batch in sampler.epoch(0)]


SAMPLER = {
    name: {"images_per_class": 3} for name in ("class_balanced", "class_balanced_with_replacement")
} | {name: {"group_size": 3} for name in samplers.available() if name.endswith("_groups")}


@pytest.mark.parametrize(("kind", "name"), USERS)
def test_labels_in_every_form_are_the_same_labels(kind, name):
    expected = used(kind, name, torch.tensor(NAMES))
    for labels in FORMS.values():
        torch.testing.assert_close(used(kind, name, labels), expected, rtol=0, atol=0)


@pytest.mark.parametrize(("kind", "name"), USERS)
def test_what_are_no_labels_is_one_line(kind, name):
    for labels, message in REFUSED.values():
        with pytest.raises(UserError, match="^" + message) as error:
            used(kind, name, labels)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("kind", "name"), [user for user in USERS if user[0] != "samplers"])
def test_what_are_no_embeddings_is_one_line(kind, name):
    for embeddings, message in [
        (x.to_sparse(), r"embeddings: sparse \(torch.sparse_coo\); allowed: dense"),
        (x.numpy(), "embeddings: ndarray; allowed: a tensor"),
        (x[:0], r"embeddings: shape \(0, 6\); allowed: \[B, D\] with B, D > 0"),
        (x[:, 0], r"embeddings: shape \(12,\); allowed: \[B, D\] with B, D > 0"),
        (x.to(torch.float8_e4m3fn), "embeddings: torch.float8_e4m3fn; allowed: floating-point"),
        (x.to("meta"), "labels: on cpu; allowed: meta, as the embeddings are"),
    ]:
        with pytest.raises(UserError, match="^" + message) as error:
            used(kind, name, torch.tensor(NAMES), embeddings)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", losses.available())
def test_embeddings_may_have_one_dimension(name):
    loss = losses.build_loss(name, num_classes=3, embedding_dim=1)
    assert loss(x[:, :1], NAMES).isfinite()


@pytest.mark.parametrize("name", miners.available())
def test_embeddings_of_one_dimension_can_be_mined(name):
    assert all(part.shape == (12, 12) for part in miners.build_miner(name)(x[:, :1], NAMES))


def test_a_loss_on_another_device_than_its_batch_is_one_line():
    loss = losses.build_loss("proxy_anchor", num_classes=3, embedding_dim=6)
    with pytest.raises(UserError, match=r"^embeddings: on meta; allowed: cpu, as the loss is"):
        loss(x.to("meta"), torch.tensor(NAMES, device="meta"))


def test_pairs_for_a_loss_over_triplets_are_one_line():
    pairs = miners.build_miner("all_valid")(x, NAMES)
    triplets = miners.build_miner("hard")(x, NAMES)
    for name, tuples, message in [
        ("triplet", pairs, "tuples: Pairs; allowed: Triplets"),
        ("contrastive", triplets, "tuples: Triplets; allowed: Pairs"),
        ("proxy_anchor", pairs, "tuples: Pairs; allowed: none"),
    ]:
        loss = losses.build_loss(name, num_classes=3, embedding_dim=6)
        with pytest.raises(UserError, match=f"^{message}$"):
            loss(x, NAMES, tuples)


def test_a_sampler_learns_from_lists_and_refuses_what_is_sparse():
    memory = EmbeddingMemory(12)
    memory.update([1, 2], x[:2].tolist())
    assert memory.embeddings[1:3] == pytest.approx(x[:2].numpy())
    memory.update([], x[:0])
    with pytest.raises(UserError, match=r"^embedding memory: embeddings: .*parse.*; allowed: "):
        memory.update([1, 2], x[:2].to_sparse())
    with pytest.raises(UserError, match=r"shape \(6,\); allowed: \(1, D\)"):
        EmbeddingMemory(12).update([1], x[0])
