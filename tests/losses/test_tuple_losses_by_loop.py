"""Every loss on pairs or triplets against a plain double-precision loop over its equation."""

import math
from itertools import product

import pytest
import torch
from dmlbench.losses import build_loss
from dmlbench.tuples import Pairs, Triplets, all_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_batches import EMBEDDING_DIM, LABELS, NUM_CLASSES, batch, value_and_gradients


def cosines(x):
    u = x / x.norm(dim=1, keepdim=True)
    return u @ u.T


def distances(x):
    zero = torch.zeros((), dtype=x.dtype)
    rows = [[zero if bool((a == b).all()) else (a - b).norm() for b in x] for a in x]
    return torch.stack([torch.stack(row) for row in rows])


def snr(x):
    return torch.stack([torch.stack([((a - b) ** 2).sum() / (a**2).sum() for b in x]) for a in x])


def snr_variance(x):
    return torch.stack([torch.stack([(a - b).var() / a.var() for b in x]) for a in x])


def hinge(value):
    return value if value > 0 else 0 * value


def log_sum(terms):
    return torch.stack(terms).logsumexp(0)


def mean(terms, like):
    return torch.stack(terms).mean() if terms else 0 * like.sum()


def nonzero_mean(terms, like):
    return mean([term for term in terms if term > 0], like)


def positives(pairs, i):
    return [j for j in range(len(pairs.positive)) if pairs.positive[i, j]]


def negatives(pairs, i):
    return [j for j in range(len(pairs.positive)) if pairs.negative[i, j]]


def entries(mask):
    return [(i, j) for i, j in product(range(len(mask)), repeat=2) if mask[i, j]]


def squared_size(x):
    return sum((row**2).sum() for row in x) / len(x)


def contrastive(x, y, pairs, margin):
    S = cosines(x)
    terms = [-S[ij] for ij in entries(pairs.positive)]
    terms += [hinge(S[ij] - margin) for ij in entries(pairs.negative)]
    return mean(terms, x)


def contrastive_euclidean(x, y, pairs, margin, positive_margin=0):
    d = distances(x)
    terms = [hinge(d[ij] - positive_margin) for ij in entries(pairs.positive)]
    terms += [hinge(margin - d[ij]) for ij in entries(pairs.negative)]
    return mean(terms, x)


def contrastive_balanced(x, y, pairs, margin, positive_margin, measure=distances):
    d = measure(x)
    pull = [hinge(d[ij] - positive_margin) for ij in entries(pairs.positive)]
    push = [hinge(margin - d[ij]) for ij in entries(pairs.negative)]
    return nonzero_mean(pull, x) + nonzero_mean(push, x)


def snr_contrastive(x, y, pairs, margin, positive_margin, weight):
    loss = contrastive_balanced(x, y, pairs, margin, positive_margin, snr_variance)
    return loss + weight * sum(abs(row.sum()) for row in x) / len(x)


def contrastive_squared(x, y, pairs, margin):
    d = distances(x)
    terms = [d[ij] ** 2 for ij in entries(pairs.positive)]
    terms += [hinge(margin - d[ij]) ** 2 for ij in entries(pairs.negative)]
    return mean(terms, x)


def contrastive_squared_distance(x, y, pairs, margin):
    d = distances(x)
    terms = [d[ij] ** 2 for ij in entries(pairs.positive)]
    terms += [hinge(margin - d[ij] ** 2) for ij in entries(pairs.negative)]
    return mean(terms, x)


def lifted(far, x, pairs, margin):
    terms = []
    for i, j in entries(pairs.positive):
        near = [margin - far[i, k] for k in negatives(pairs, i)]
        near += [margin - far[j, k] for k in negatives(pairs, j)]
        terms.append(hinge(log_sum(near) + far[i, j]) ** 2 / 2 if near else 0 * far[i, j])
    return mean(terms, x)


def lifted_structure(x, y, pairs, margin):
    return lifted(-cosines(x), x, pairs, margin)


def lifted_structure_euclidean(x, y, pairs, margin):
    return lifted(distances(x), x, pairs, margin)


def per_anchor(x, pairs, term):
    both = [i for i in range(len(x)) if positives(pairs, i) and negatives(pairs, i)]
    return sum((term(i) for i in both), 0 * x.sum()) / len(x)


def lifted_structure_per_anchor(x, y, pairs, margin):
    S = cosines(x)

    def term(i):
        pull = log_sum([margin - S[i, j] for j in positives(pairs, i)])
        return hinge(pull + log_sum([S[i, k] for k in negatives(pairs, i)]))

    return per_anchor(x, pairs, term)


def generalized_lifted(x, y, pairs, margin, l2):
    d = distances(x)

    def term(i):
        far = log_sum([d[i, j] for j in positives(pairs, i)])
        return hinge(far + log_sum([margin - d[i, k] for k in negatives(pairs, i)]))

    return per_anchor(x, pairs, term) + l2 * squared_size(x)


def n_pair(x, y, pairs, l2, scale=1):
    S = scale * (x @ x.T)

    def term(i):
        return torch.log(
            1
            + sum(
                torch.exp(S[i, k] - S[i, j])
                for j in positives(pairs, i)
                for k in negatives(pairs, i)
            )
        )

    return per_anchor(x, pairs, term) + l2 * squared_size(x)


def n_pair_per_pair(x, y, pairs, l2):
    S = x @ x.T

    def term(i):
        return sum(
            torch.log(1 + sum(torch.exp(S[i, k] - S[i, j]) for k in negatives(pairs, i)))
            for j in positives(pairs, i)
        )

    return per_anchor(x, pairs, term) + l2 * squared_size(x)


def angular_sum(x, pairs, alpha):
    u = x / x.norm(dim=1, keepdim=True)
    t = math.tan(math.radians(alpha)) ** 2

    def term(a, p):
        near = [
            torch.exp(4 * t * (u[a] + u[p]) @ u[n] - 2 * (1 + t) * u[a] @ u[p])
            for n in negatives(pairs, a)
        ]
        return torch.log(1 + sum(near)) if near else 0 * x.sum()

    return sum((term(a, p) for a, p in entries(pairs.positive)), 0 * x.sum())


def angular(x, y, pairs, alpha, weight, l2):
    return n_pair_per_pair(x, y, pairs, l2) + weight / len(x) * angular_sum(x, pairs, alpha)


def angular_only(x, y, pairs, alpha):
    return angular_sum(x, pairs, alpha) / max(1, len(entries(pairs.positive)))


def margin(x, y, pairs, margin, beta, learned=True):
    d = distances(x)
    terms = [hinge(d[ij] - beta + margin) for ij in entries(pairs.positive)]
    terms += [hinge(beta - d[ij] + margin) for ij in entries(pairs.negative)]
    return nonzero_mean(terms, x)


def margin_similarity(x, y, pairs, margin, beta):
    S = cosines(x)
    terms = [hinge(margin + beta - S[ij]) for ij in entries(pairs.positive)]
    terms += [hinge(margin - beta + S[ij]) for ij in entries(pairs.negative)]
    return nonzero_mean(terms, x)


def multi_similarity(x, y, pairs, alpha, beta, margin):
    S = cosines(x)
    loss = 0 * x.sum()
    for i in range(len(x)):
        pull = sum(torch.exp(-alpha * (S[i, j] - margin)) for j in positives(pairs, i))
        push = sum(torch.exp(beta * (S[i, k] - margin)) for k in negatives(pairs, i))
        loss = loss + torch.log(1 + pull + 0 * S[i, i]) / alpha
        loss = loss + torch.log(1 + push + 0 * S[i, i]) / beta
    return loss / len(x)


def soft_counts(values, low, high, nodes):
    step = (high - low) / (nodes - 1)
    at = [low + step * r for r in range(nodes)]
    return [
        sum((hinge(1 - abs(v - t) / step) for v in values), torch.zeros((), dtype=torch.float64))
        for t in at
    ]


def fastap(x, y, pairs, bins):
    squared = 2 - 2 * cosines(x)
    terms = []
    for i in range(len(x)):
        if not positives(pairs, i):
            continue
        h = soft_counts([squared[i, j] for j in positives(pairs, i)], 0, 4, bins + 1)
        other = soft_counts([squared[i, k] for k in negatives(pairs, i)], 0, 4, bins + 1)
        ap = 0
        for r in range(bins + 1):
            H, H_all = sum(h[: r + 1]), sum(h[: r + 1]) + sum(other[: r + 1])
            ap = ap + (h[r] * H / H_all if H_all > 0 else 0)
        terms.append(1 - ap / len(positives(pairs, i)))
    return mean(terms, x)


def histogram(x, y, pairs, bins):
    S = cosines(x)
    P, N = entries(pairs.positive), entries(pairs.negative)
    if not P or not N:
        return 0 * x.sum()
    positive = [h / len(P) for h in soft_counts([S[ij] for ij in P], -1, 1, bins)]
    negative = [h / len(N) for h in soft_counts([S[ij] for ij in N], -1, 1, bins)]
    return sum(negative[r] * sum(positive[: r + 1]) for r in range(bins))


def circle(x, y, pairs, margin, gamma):
    S = cosines(x)
    fixed = S.detach()

    def term(i):
        pull = sum(
            torch.exp(-gamma * hinge(1 + margin - fixed[i, j]) * (S[i, j] - 1 + margin))
            for j in positives(pairs, i)
        )
        push = sum(
            torch.exp(gamma * hinge(fixed[i, k] + margin) * (S[i, k] - margin))
            for k in negatives(pairs, i)
        )
        return torch.log(1 + pull * push)

    return per_anchor(x, pairs, term)


def supervised_contrastive(x, y, pairs, temperature):
    logits = cosines(x) / temperature
    terms = []
    for i in range(len(x)):
        P = positives(pairs, i)
        if P:
            total = sum(torch.exp(logits[i, k]) for k in P + negatives(pairs, i))
            terms.append(-sum(torch.log(torch.exp(logits[i, j]) / total) for j in P) / len(P))
    return mean(terms, x)


def smooth_rank(S, i, j, among, temperature):
    wins = [torch.sigmoid((S[i, k] - S[i, j]) / temperature) for k in among if k != j]
    return 1 + sum(wins, 0 * S[i, j])


def smooth_ap(x, y, pairs, temperature):
    S = cosines(x)
    terms = []
    for i in range(len(x)):
        P, others = positives(pairs, i), [k for k in range(len(x)) if k != i]
        if P:
            ratios = [
                smooth_rank(S, i, j, P, temperature) / smooth_rank(S, i, j, others, temperature)
                for j in P
            ]
            terms.append(1 - sum(ratios) / len(P))
    return mean(terms, x)


def recall_at_k_surrogate(x, y, pairs, temperature, rank_temperature, ks):
    S = cosines(x)
    terms = []
    for i in range(len(x)):
        P, others = positives(pairs, i), [k for k in range(len(x)) if k != i]
        if P:
            ranks = [smooth_rank(S, i, j, others, temperature) for j in P]
            recalls = [
                sum(torch.sigmoid((k - rank) / rank_temperature) for rank in ranks) / min(k, len(P))
                for k in ks
            ]
            terms.append(1 - sum(recalls) / len(ks))
    return mean(terms, x)


def all_triplets(y):
    B = range(len(y))
    return [(a, p, n) for a in B for p in B for n in B if a != p and y[a] == y[p] and y[a] != y[n]]


def triplet(x, y, triplets, margin):
    S = cosines(x)
    return mean([hinge(S[a, n] - S[a, p] + margin) for a, p, n in triplets], x)


def triplet_nonzero(x, y, triplets, margin):
    d = distances(x)
    return nonzero_mean([hinge(d[a, p] - d[a, n] + margin) for a, p, n in triplets], x)


def snr_triplet(x, y, triplets, margin, weight):
    r = snr(x)
    loss = mean([hinge(r[a, p] - r[a, n] + margin) for a, p, n in triplets], x)
    return loss + weight * sum(abs(row.sum()) for row in x) / len(x)


def quadruplet(x, y, triplets, margin, margin_2):
    d = distances(x)
    first = [hinge(d[i, j] - d[i, k] + margin) for i, j, k in triplets]
    P = [(i, j) for i, j in product(range(len(x)), repeat=2) if i != j and y[i] == y[j]]
    second = [
        hinge(d[i, j] - d[m, k] + margin_2)
        for i, j in P
        for m, k in product(range(len(x)), repeat=2)
        if len({int(y[i]), int(y[m]), int(y[k])}) == 3
    ]
    return mean(first, x) + mean(second, x)


ON_PAIRS = {
    "contrastive": (contrastive, {"margin": 0.3}),
    "contrastive_euclidean": (contrastive_euclidean, {"margin": 3.0, "positive_margin": 0.4}),
    "contrastive_balanced": (contrastive_balanced, {"margin": 3.0, "positive_margin": 0.4}),
    "contrastive_squared": (contrastive_squared, {"margin": 3.0}),
    "contrastive_squared_distance": (contrastive_squared_distance, {"margin": 9.0}),
    "lifted_structure": (lifted_structure, {"margin": 0.5}),
    "lifted_structure_euclidean": (lifted_structure_euclidean, {"margin": 2.0}),
    "lifted_structure_per_anchor": (lifted_structure_per_anchor, {"margin": 0.5}),
    "generalized_lifted": (generalized_lifted, {"margin": 1.0, "l2": 0.01}),
    "n_pair": (n_pair, {"l2": 0.02}),
    "n_pair, scaled": (n_pair, {"l2": 0.02, "scale": 0.3}),
    "n_pair_per_pair": (n_pair_per_pair, {"l2": 0.005}),
    "angular": (angular, {"alpha": 40.0, "weight": 1.5, "l2": 0.01}),
    "angular_only": (angular_only, {"alpha": 45.0}),
    "margin": (margin, {"margin": 0.5, "beta": 2.5}),
    "margin, fixed": (margin, {"margin": 0.2, "beta": 2.5, "learned": False}),
    "margin_per_class": (margin, {"margin": 0.2, "beta": 2.5}),
    "margin_similarity": (margin_similarity, {"margin": 0.3, "beta": 0.2}),
    "multi_similarity": (multi_similarity, {"alpha": 2, "beta": 50, "margin": 0.5}),
    "fastap": (fastap, {"bins": 7}),
    "histogram": (histogram, {"bins": 9}),
    "snr_contrastive": (snr_contrastive, {"margin": 2.0, "positive_margin": 0.5, "weight": 0.1}),
    "circle": (circle, {"margin": 0.4, "gamma": 20}),
    "supervised_contrastive": (supervised_contrastive, {"temperature": 0.2}),
    "smooth_ap": (smooth_ap, {"temperature": 0.1}),
    "recall_at_k_surrogate": (
        recall_at_k_surrogate,
        {"temperature": 0.1, "rank_temperature": 1.5, "ks": (1, 2, 4)},
    ),
}
ON_TRIPLETS = {
    "triplet": (triplet, {"margin": 0.3}),
    "triplet_nonzero": (triplet_nonzero, {"margin": 0.7}),
    "snr": (snr_triplet, {"margin": 0.3, "weight": 0.01}),
    "quadruplet": (quadruplet, {"margin": 1.0, "margin_2": 0.5}),
}


def built(name, hyperparameters):
    facts = {"num_classes": NUM_CLASSES, "embedding_dim": EMBEDDING_DIM}
    return build_loss(name.partition(",")[0], **facts, **hyperparameters).double()


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ON_PAIRS)
def test_pair_loss_equals_its_equation(name, labels):
    oracle, hyperparameters = ON_PAIRS[name]
    x, y = batch(labels)
    expected = value_and_gradients(lambda x: oracle(x, y, all_pairs(y), **hyperparameters), x)
    ours = value_and_gradients(built(name, hyperparameters), x, y)[:2]
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-6)


@settings(max_examples=4, deadline=None)
@given(
    labels=st.lists(st.integers(0, NUM_CLASSES - 1), min_size=1, max_size=9),
    seed=st.integers(0, 2**31),
)
@pytest.mark.parametrize("name", [*ON_PAIRS, *ON_TRIPLETS])
def test_loss_equals_its_equation_on_random_batches(name, labels, seed):
    oracle, hyperparameters = {**ON_PAIRS, **ON_TRIPLETS}[name]
    y = torch.tensor(labels)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(len(y), EMBEDDING_DIM, generator=generator, dtype=torch.float64)
    tuples = all_pairs(y) if name in ON_PAIRS else all_triplets(y)
    expected = value_and_gradients(lambda x: oracle(x, y, tuples, **hyperparameters), x)
    ours = value_and_gradients(built(name, hyperparameters), x, y)[:2]
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ON_PAIRS)
def test_pair_loss_sees_the_mined_pairs_only(name):
    oracle, hyperparameters = ON_PAIRS[name]
    x, y = batch("unequal classes, odd size", seed=1)
    kept = torch.rand(len(y), len(y), generator=torch.Generator().manual_seed(2)) < 0.6
    pairs = Pairs(*(mask & kept for mask in all_pairs(y)))
    expected = value_and_gradients(lambda x: oracle(x, y, pairs, **hyperparameters), x)
    ours = value_and_gradients(built(name, hyperparameters), x, y, pairs)[:2]
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ON_TRIPLETS)
def test_triplet_loss_equals_its_equation(name, labels):
    oracle, hyperparameters = ON_TRIPLETS[name]
    x, y = batch(labels)
    expected = value_and_gradients(lambda x: oracle(x, y, all_triplets(y), **hyperparameters), x)
    ours = value_and_gradients(built(name, hyperparameters), x, y)[:2]
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["triplet", "triplet_nonzero", "snr"])
def test_triplet_loss_sees_the_mined_triplets_only(name):
    oracle, hyperparameters = ON_TRIPLETS[name]
    x, y = batch("unequal classes, odd size", seed=1)
    generator = torch.Generator().manual_seed(3)
    positive, negative = all_pairs(y)
    chosen = torch.multinomial(negative.double(), len(y), replacement=True, generator=generator)
    valid = positive & (torch.rand(len(y), len(y), generator=generator) < 0.7)
    triplets = [(a, p, int(chosen[a, p])) for a, p in entries(valid)]
    expected = value_and_gradients(lambda x: oracle(x, y, triplets, **hyperparameters), x)
    ours = value_and_gradients(built(name, hyperparameters), x, y, Triplets(chosen, valid))[:2]
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("labels", LABELS)
def test_n_pair_on_the_first_two_of_each_class(labels):
    def oracle(x):
        members = [[i for i in range(len(y)) if y[i] == c] for c in sorted(set(y.tolist()))]
        pairs = [indices[:2] for indices in members if len(indices) > 1]
        terms = []
        for a, p in pairs:
            others = [torch.exp(x[a] @ x[q] - x[a] @ x[p]) for _, q in pairs if q != p]
            terms.append(torch.log(1 + sum(others) + 0 * x.sum()))
        return mean(terms, x) + 0.02 * squared_size(x)

    x, y = batch(labels)
    ours = value_and_gradients(built("n_pair_one_per_class", {}), x, y)
    torch.testing.assert_close(ours, value_and_gradients(oracle, x), atol=1e-6, rtol=1e-6)


def test_quadruplet_draws_its_second_negative_from_a_third_class():
    x, y = batch("three classes of four")
    positive, negative = all_pairs(y)
    first = torch.multinomial(negative.double(), len(y), replacement=True)
    loss = built("quadruplet", {"margin": -100.0, "margin_2": 0.5})
    torch.manual_seed(0)
    drawn = torch.randint_like(first, len(y))
    torch.manual_seed(0)
    d, terms = distances(x), []
    for i, j in entries(positive):
        k, other = int(first[i, j]), int(drawn[i, j])
        if y[other] not in (y[i], y[k]):
            terms.append(hinge(d[i, j] - d[other, k] + 0.5))
    torch.testing.assert_close(loss(x, y, Triplets(first, positive)), mean(terms, x))
    assert 0 < len(terms) < int(positive.sum())


@pytest.mark.parametrize("name", ["margin", "margin_per_class", "margin_similarity"])
def test_the_boundary_is_learned(name):
    x, y = batch("unequal classes, odd size")
    loss = built(name, {"margin": 0.4, "beta": 0.3 if name == "margin_similarity" else 2.5})
    gradient = value_and_gradients(loss, x, y)[2]
    beta, step = loss.beta.detach().clone(), 1e-6
    for place in range(beta.numel()):
        nudge = torch.zeros_like(beta).view(-1)
        nudge[place] = step
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                loss.beta.copy_(beta + sign * nudge.view_as(beta))
                values.append(loss(x, y))
        slope = (values[0] - values[1]) / (2 * step)
        torch.testing.assert_close(gradient.view(-1)[place], slope, atol=1e-6, rtol=1e-6)
