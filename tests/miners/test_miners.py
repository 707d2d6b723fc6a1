"""Every returned tuple obeys its miner's definition, by brute force over all tuples of a batch."""

import itertools

import numpy as np
import torch
from dmlbench.miners import build_miner
from dmlbench.miners._representatives import anchored, touching
from dmlbench.tuples import all_pairs
from hypothesis import given, settings
from hypothesis import strategies as st


@st.composite
def batches(draw):
    """Small integers, so that every similarity and squared distance is exact and ties are common;
    labels often lack positives, negatives, or both."""
    size = draw(st.integers(1, 9))
    coordinates = st.lists(st.integers(-3, 3), min_size=2 * size, max_size=2 * size)
    labels = st.lists(st.integers(0, draw(st.integers(0, 4))), min_size=size, max_size=size)
    dtype = draw(st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16]))
    embeddings = torch.tensor(draw(coordinates), dtype=dtype).view(size, 2)
    return embeddings, torch.tensor(draw(labels))


def facts(embeddings, labels):
    """Similarity, Euclidean distance, positives and negatives of each image, as plain lists."""
    x, y = embeddings.double().numpy(), labels.tolist()
    every = range(len(y))
    similarity = [[float(x[i] @ x[j]) for j in every] for i in every]
    distance = [[float(np.linalg.norm(x[i] - x[j])) for j in every] for i in every]
    positives = [[j for j in every if y[i] == y[j] and i != j] for i in every]
    negatives = [[j for j in every if y[i] != y[j]] for i in every]
    return similarity, distance, positives, negatives


def triplets_of(mined):
    """{(anchor, positive): negative} of the triplets that are valid."""
    return {(i, j): int(mined.negative[i, j]) for i, j in mined.valid.nonzero().tolist()}


def pairs_of(mask):
    return {(i, j) for i, j in mask.nonzero().tolist()}


def example(count):
    return settings(max_examples=count, deadline=None)


@example(40)
@given(batches())
def test_semi_hard_is_the_most_similar_of_the_less_similar(batch):
    similarity, _, positives, negatives = facts(*batch)
    found = triplets_of(build_miner("semi_hard")(*batch))
    for a in range(len(batch[1])):
        for p in positives[a]:
            candidates = [similarity[a][n] for n in negatives[a]]
            candidates = [s for s in candidates if s < similarity[a][p]]
            assert ((a, p) in found) == bool(candidates)
            if candidates:
                n = found.pop((a, p))
                assert n in negatives[a]
                assert similarity[a][n] == max(candidates)
    assert not found


@example(40)
@given(batches(), st.sampled_from(["one", "all"]), st.sampled_from([float("inf"), 1.5]))
def test_semi_hard_random_is_farther_than_the_positive(batch, positives_kept, margin):
    _, distance, positives, negatives = facts(*batch)
    miner = build_miner("semi_hard_random", positives=positives_kept, margin=margin)
    found = triplets_of(miner(*batch))
    for (a, p), n in found.items():
        assert p in positives[a]
        assert n in negatives[a]
        assert distance[a][p] < distance[a][n] < distance[a][p] + margin
    for a in range(len(batch[1])):
        possible = {
            p
            for p in positives[a]
            if any(distance[a][p] < distance[a][n] < distance[a][p] + margin for n in negatives[a])
        }
        kept = {p for anchor, p in found if anchor == a}
        if positives_kept == "all":
            assert kept == possible
        else:
            assert len(kept) <= 1
            # The positive is drawn before its negatives are looked at.
            assert kept or possible != set(positives[a]) or not positives[a]


@example(40)
@given(batches(), st.sampled_from(["soft_hard", "semi_hard_random"]))
def test_with_a_fallback_every_anchor_gives_a_triplet(batch, name):
    _, _, positives, negatives = facts(*batch)
    torch.manual_seed(0)
    found = triplets_of(build_miner(name, fallback="any")(*batch))
    assert {a for a, _ in found} == {
        a for a in range(len(batch[1])) if positives[a] and negatives[a]
    }
    for (a, p), n in found.items():
        assert p in positives[a]
        assert n in negatives[a]


@example(40)
@given(batches(), st.sampled_from(["hardest", "all"]))
def test_hard_takes_the_farthest_positive_and_the_nearest_negative(batch, positives_kept):
    _, distance, positives, negatives = facts(*batch)
    found = triplets_of(build_miner("hard", positives=positives_kept)(*batch))
    for a in range(len(batch[1])):
        kept = {p: n for (anchor, p), n in found.items() if anchor == a}
        if not positives[a] or not negatives[a]:
            assert not kept
            continue
        for p, n in kept.items():
            assert n in negatives[a]
            assert distance[a][n] == min(distance[a][k] for k in negatives[a])
            if positives_kept == "hardest":
                assert p in positives[a]
                assert distance[a][p] == max(distance[a][k] for k in positives[a])
        assert len(kept) == 1 if positives_kept == "hardest" else set(kept) == set(positives[a])


@example(40)
@given(batches())
def test_hard_pairs_balances_positives_with_the_nearest_negatives(batch):
    _, distance, positives, negatives = facts(*batch)
    mined = build_miner("hard_pairs")(*batch)
    assert pairs_of(mined.positive) == {(a, p) for a, row in enumerate(positives) for p in row}
    for a, row in enumerate(negatives):
        kept = [distance[a][n] for anchor, n in pairs_of(mined.negative) if anchor == a]
        nearest = sorted(distance[a][n] for n in row)[: len(positives[a])]
        assert sorted(kept) == nearest
    assert pairs_of(mined.negative) <= {(a, n) for a, row in enumerate(negatives) for n in row}


@example(40)
@given(batches())
def test_soft_hard_draws_from_hard_positives_and_hard_negatives(batch):
    _, distance, positives, negatives = facts(*batch)
    found = triplets_of(build_miner("soft_hard")(*batch))
    for a in range(len(batch[1])):
        kept = [(p, n) for (anchor, p), n in found.items() if anchor == a]
        possible = (
            positives[a]
            and negatives[a]
            and (
                max(distance[a][p] for p in positives[a])
                > min(distance[a][n] for n in negatives[a])
            )
        )
        assert len(kept) == bool(possible)
        for p, n in kept:
            assert p in positives[a]
            assert distance[a][p] > min(distance[a][k] for k in negatives[a])
            assert n in negatives[a]
            assert distance[a][n] < max(distance[a][k] for k in positives[a])


@example(40)
@given(batches(), st.sampled_from([0.0, 0.1, 1.0]))
def test_multi_similarity_compares_with_the_hardest_of_the_other_kind(batch, epsilon):
    similarity, _, positives, negatives = facts(*batch)
    mined = build_miner("multi_similarity", epsilon=epsilon)(*batch)
    kept_positives, kept_negatives = set(), set()
    for a in range(len(batch[1])):
        for p, n in itertools.product(positives[a], negatives[a]):
            # A pair that violates the order by less than epsilon with any partner is kept.
            if similarity[a][p] < similarity[a][n] + epsilon:
                kept_positives.add((a, p))
            if similarity[a][n] > similarity[a][p] - epsilon:
                kept_negatives.add((a, n))
    assert pairs_of(mined.positive) == kept_positives
    assert pairs_of(mined.negative) == kept_negatives


@example(40)
@given(batches(), st.sampled_from(["random", "distance_weighted"]), st.sampled_from(["one", "all"]))
def test_drawn_triplets_are_valid(batch, name, positives_kept):
    embeddings = batch[0] / 5
    _, distance, positives, negatives = facts(embeddings, batch[1])
    found = triplets_of(build_miner(name, positives=positives_kept)(embeddings, batch[1]))
    limit = 1.4 if name == "distance_weighted" else float("inf")
    for a in range(len(batch[1])):
        within = [n for n in negatives[a] if distance[a][n] <= limit]
        kept = {p: n for (anchor, p), n in found.items() if anchor == a}
        assert set(kept) <= set(positives[a])
        assert set(kept.values()) <= set(within)
        wanted = len(positives[a]) if positives_kept == "all" else min(len(positives[a]), 1)
        assert len(kept) == (wanted if within else 0)


def test_all_valid_gives_every_pair():
    labels = torch.tensor([0, 0, 1, 2, 1])
    mined = build_miner("all_valid")(torch.zeros(5, 2), labels)
    assert pairs_of(mined.positive) == {(0, 1), (1, 0), (2, 4), (4, 2)}
    assert pairs_of(mined.negative) == {
        (i, j) for i, j in itertools.product(range(5), repeat=2) if labels[i] != labels[j]
    }


@example(40)
@given(batches(), st.sampled_from(["one", "all"]), st.integers(0, 1000))
def test_distance_weighted_pairs_are_those_of_the_triplets(batch, positives_kept, seed):
    embeddings = batch[0] / 5
    torch.manual_seed(seed)
    miner = build_miner("distance_weighted", positives=positives_kept)
    triplets = triplets_of(miner(embeddings, batch[1]))
    torch.manual_seed(seed)
    miner = build_miner("distance_weighted_pairs", positives=positives_kept)
    mined = miner(embeddings, batch[1])
    assert pairs_of(mined.positive) == set(triplets)
    assert pairs_of(mined.negative) == {(a, n) for (a, _), n in triplets.items()}


@example(40)
@given(batches(), st.data())
def test_tuples_around_representatives(batch, data):
    _, labels = batch
    flags = data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
    pairs, triplets = all_pairs(labels), build_miner("random", positives="all")(*batch)
    representative = torch.tensor(flags)
    for before, after in zip(pairs, anchored(pairs, representative), strict=True):
        assert pairs_of(after) == {(i, j) for i, j in pairs_of(before) if flags[i]}
    for before, after in zip(pairs, touching(pairs, representative), strict=True):
        assert pairs_of(after) == {(i, j) for i, j in pairs_of(before) if flags[i] or flags[j]}
    kept = {key: n for key, n in triplets_of(triplets).items() if flags[key[0]]}
    assert triplets_of(anchored(triplets, representative)) == kept
