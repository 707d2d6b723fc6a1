"""Our losses against pytorch-metric-learning's, where its definition is the same."""

import pytest
import torch
from dmlbench.losses import build_loss
from loss_batches import EMBEDDING_DIM, LABELS, NUM_CLASSES, batch, value_and_gradients
from pytorch_metric_learning import distances, losses, reducers
from torch.nn.functional import normalize

MANY_CLASSES = 10_000
BATCHES = [name for name in LABELS if name not in ("one sample", "duplicates")]


def euclidean():
    return distances.LpDistance(normalize_embeddings=False)


def cosine():
    return distances.CosineSimilarity()


def mean():
    return reducers.MeanReducer()


ON_TUPLES = {
    "contrastive_balanced": (
        {"margin": 3.0, "positive_margin": 0.4},
        lambda: losses.ContrastiveLoss(0.4, 3.0, distance=euclidean()),
    ),
    "triplet": (
        {"margin": 0.1},
        lambda: losses.TripletMarginLoss(0.1, distance=cosine(), reducer=mean()),
    ),
    "triplet_nonzero": (
        {"margin": 0.7},
        lambda: losses.TripletMarginLoss(0.7, distance=euclidean()),
    ),
    "lifted_structure": (
        {"margin": 0.5},
        lambda: losses.LiftedStructureLoss(-0.5, 0, distance=cosine()),
    ),
    "lifted_structure_euclidean": (
        {"margin": 1.0},
        lambda: losses.LiftedStructureLoss(1, 0, distance=euclidean()),
    ),
    "multi_similarity": ({}, losses.MultiSimilarityLoss),
    "angular_only": ({"alpha": 45}, lambda: losses.AngularLoss(45)),
    "fastap": ({"bins": 10}, lambda: losses.FastAPLoss(10)),
    "histogram": ({"bins": 65}, lambda: losses.HistogramLoss(64)),
    "snr_contrastive": (
        {"margin": 2.0, "positive_margin": 0.3},
        lambda: losses.SignalToNoiseRatioContrastiveLoss(
            pos_margin=0.3, neg_margin=2.0, distance=distances.SNRDistance(normalize_embeddings=0)
        ),
    ),
    "circle": ({}, lambda: losses.CircleLoss(reducer=mean())),
    "supervised_contrastive": (
        {"temperature": 0.1},
        lambda: losses.SupConLoss(0.1),
    ),
}
# the library drops a batch without negatives; ours still pulls or counts
ONLY_WITH_NEGATIVES = {"multi_similarity", "supervised_contrastive", "fastap"}

ON_PROXIES = {
    "normalized_softmax": ({}, losses.NormalizedSoftmaxLoss, "W"),
    "cosface": ({}, losses.CosFaceLoss, "W"),
    # the library replaces the margin where angle + margin > 180 degrees: small enough not to
    "arcface": ({"margin": 5.0}, lambda C, D: losses.ArcFaceLoss(C, D, margin=5.0), "W"),
    "proxy_anchor": ({}, losses.ProxyAnchorLoss, "proxies"),
    # the library's ProxyNCA has the own proxy in the denominator, as ProxyNCA++
    "proxy_nca_plus_plus": ({"temperature": 1.0}, losses.ProxyNCALoss, "proxies"),
    "soft_triple": (
        {"margin": 0.01, "tau": 0},
        losses.SoftTripleLoss,
        "fc",
    ),
}


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("labels", BATCHES)
@pytest.mark.parametrize("name", ON_TUPLES)
def test_agrees_on_tuples(name, labels):
    if name in ONLY_WITH_NEGATIVES and labels == "no negatives":
        pytest.skip("the library returns 0 for a batch without negatives")
    if name == "histogram" and labels == "unequal classes, odd size":
        pytest.skip("the library leaves out the negatives of anchors without positives")
    hyperparameters, library = ON_TUPLES[name]
    x, y = batch(labels, seed=5)
    if name == "angular_only":
        x = normalize(x)  # the library forgets to in one of two places
    loss = build_loss(name, num_classes=NUM_CLASSES, embedding_dim=EMBEDDING_DIM, **hyperparameters)
    expected = value_and_gradients(library(), x, y)[:2]
    expected[0] = expected[0].reshape(()).double()
    if name == "angular_only":  # ours has no gradient along x, as it normalizes
        expected[1] -= (expected[1] * x).sum(1, keepdim=True) * x
    torch.testing.assert_close(value_and_gradients(loss, x, y)[:2], expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("num_classes", [NUM_CLASSES, MANY_CLASSES])
@pytest.mark.parametrize("name", ON_PROXIES)
def test_agrees_on_proxies(name, num_classes):
    hyperparameters, library, their_name = ON_PROXIES[name]
    torch.manual_seed(6)
    ours = build_loss(
        name, num_classes=num_classes, embedding_dim=EMBEDDING_DIM, **hyperparameters
    ).double()
    theirs = library(num_classes, EMBEDDING_DIM).double()
    weights = next(ours.parameters()).detach()
    if name == "soft_triple":
        theirs.margin = 0.01
        weights = weights.transpose(0, 1).flatten(0, 1)  # the library groups them by class
    their_weights = getattr(theirs, their_name)
    with torch.no_grad():
        their_weights.copy_(weights.T if their_weights.shape != weights.shape else weights)
    x, y = batch("unequal classes, odd size")
    y = y * (num_classes // NUM_CLASSES)
    expected = value_and_gradients(theirs, x, y)
    got = value_and_gradients(ours, x, y)
    if name == "soft_triple":
        got[2] = got[2].transpose(0, 1).flatten(0, 1)
    if expected[2].shape != got[2].shape:
        expected[2] = expected[2].T
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-6)


def test_margin_agrees_over_one_negative_per_positive():
    # the library takes triplets; over all of a batch of equal classes it counts each positive pair
    # once per negative, so the two agree where every pair has the same weight: no positive violates
    x, y = batch("three classes of four")
    theirs = losses.MarginLoss(0.2, beta=50.0, distance=euclidean())
    ours = build_loss(
        "margin", num_classes=3, embedding_dim=EMBEDDING_DIM, margin=0.2, beta=50.0, learned=False
    )
    expected = value_and_gradients(theirs, x, y)[:2]
    torch.testing.assert_close(
        value_and_gradients(ours, x, y)[:2],
        [expected[0].reshape(()).double(), expected[1]],
        atol=1e-6,
        rtol=1e-6,
    )
