"""Our losses, miners, samplers and measures against what the authors' public code computed.

`benchmarks/authors.py` ran that code on fixed batches and wrote recorded.json. A part of a study's
code variant must have the same gradient, up to a stated factor, and draw the same tuples. Gradients
are compared along the unit sphere where embeddings are normalized before a loss sees them, and as a
whole, at lengths from 0.5 to 6, where they are not.
"""

import math
import re

import numpy as np
import pytest
import torch
from author_batches import (
    CLASSES,
    DIMENSIONS,
    RECORDED,
    features,
    fixed_batches,
    long_batches,
    proxies,
)
from author_specs import LOSSES, spec_of
from dmlbench import registry
from dmlbench.evaluation import score
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.samplers import build_sampler
from dmlbench.training.principal_components import standardized_projection
from dmlbench.tuples import Pairs, Triplets

# With what their losses were recorded, where searches or other terms set the values.
GIVEN = {
    "musgrave2020/contrastive": {"positive_margin": 0.2, "margin": 0.9},
    "musgrave2020/triplet": {"margin": 0.1},
    "musgrave2020/proxy_nca": {"temperature": 1 / 8},
    "musgrave2020/margin": {"margin": 0.1, "beta": 1.1},
    "musgrave2020/normalized_softmax": {"temperature": 0.1},
    "musgrave2020/cosface": {"margin": 0.35, "scale": 16},
    "musgrave2020/arcface": {"margin": 20, "scale": 16},
    "musgrave2020/fastap": {"bins": 10},
    "musgrave2020/snr_contrastive": {"positive_margin": 0.2, "margin": 0.9, "weight": 0.1},
    "musgrave2020/multi_similarity": {"alpha": 2, "beta": 50, "margin": 0.5},
    "musgrave2020/multi_similarity_miner": {"alpha": 2, "beta": 50, "margin": 0.5},
    # Their gamma is the inverse, and their weight of the regularizer half of ours.
    "musgrave2020/soft_triple": {
        "alpha": 18, "gamma": 1 / 0.5, "tau": 2 * 0.4, "margin": 0.1, "centers_per_class": 2,
    },
}  # fmt: skip
# Ours divided by theirs, where it is not 1.
FACTORS = {
    # Means over pairs instead of the sum of two means, which count an anchor as its own positive.
    "roth2020/contrastive": lambda pairs: len(pairs.positive) / sum(map(torch.sum, pairs)),
    "roth2020/contrastive with rho": lambda pairs: len(pairs.positive) / sum(map(torch.sum, pairs)),
    # Theirs is the mean over the anchors that keep pairs, ours over all.
    "roth2020/multi_similarity": lambda pairs: (
        (pairs.positive.any(1) & pairs.negative.any(1)).double().mean()
    ),
}


def built_like_theirs(spec, entry):
    """Our loss with the fixed proxies, in float64."""
    options = spec.loss.hyperparameters | GIVEN.get(entry, {})
    loss = build_loss(spec.loss.name, num_classes=CLASSES, embedding_dim=DIMENSIONS, **options)
    for parameter in loss.double().parameters():
        copies = parameter.numel() // (CLASSES * DIMENSIONS)
        if copies:
            vectors = proxies(copies).view(CLASSES, copies, DIMENSIONS).transpose(0, 1)
            parameter.data = vectors.reshape(parameter.shape).clone()
    return loss


def tuples_for(spec, batch, drawn, entry):
    """The tuples that their miner drew, or those of ours if it draws nothing."""
    takes = registry.annotation("losses", spec.loss.name, "forward", "tuples") or ""
    if spec.miner is None or (drawn is None and not spec.miner):
        return None
    if drawn is None:
        options = spec.miner.hyperparameters | ({"epsilon": 0.3} if "_miner" in entry else {})
        return build_miner(spec.miner.name, **options)(*batch)
    size = len(batch.x)
    first, second = torch.zeros(2, size, size, dtype=torch.bool)
    if spec.miner.name == "one_positive":
        for anchor, positive, negatives in zip(*drawn, strict=True):
            first[anchor, positive] = second[anchor, negatives] = True
        return Pairs(first, second)
    anchors, positives, negatives = torch.tensor(drawn).T
    first[anchors, positives] = True
    if "Pairs" in takes:
        second[anchors, negatives] = True
        return Pairs(first.fill_diagonal_(False), second)
    negative = torch.zeros(size, size, dtype=torch.int64)
    negative[anchors, positives] = negatives
    return Triplets(negative, first)


@pytest.mark.parametrize("entry", LOSSES)
def test_a_loss_has_the_gradient_of_the_authors_code(loaded, entry):
    spec = spec_of(loaded, entry)
    loss = built_like_theirs(spec, entry)
    moved = 0
    for name, batch in (fixed_batches() if spec.normalize else long_batches()).items():
        theirs = RECORDED[entry]["batches"][name]
        if math.isnan(theirs["value"]):
            # Their SNR divides by the number of active triplets, of which there are none here.
            assert entry == "roth2020/snr with rho", name
            continue
        x = batch.x.clone().requires_grad_()
        tuples = tuples_for(spec, batch, theirs.get("tuples"), entry)
        value = loss(x, batch.labels, *([] if tuples is None else [tuples]))
        gradient, *of_parameters = torch.autograd.grad(value, [x, *loss.parameters()])
        factor = float(FACTORS[entry](tuples)) if entry in FACTORS else 1.0
        assert value.item() == pytest.approx(factor * theirs["value"], rel=1e-4, abs=1e-5), name
        expected = torch.tensor(theirs["gradient"], dtype=torch.float64)
        found = gradient
        if spec.normalize:
            found, expected = (along_the_sphere(each, batch.x) for each in (gradient, expected))
        torch.testing.assert_close(found, factor * expected, rtol=1e-3, atol=1e-4, msg=name)
        if expected.norm() > 1e-6:
            assert cosine(found, expected) > 0.99999, name
            moved += 1
        if of_parameters and "parameter_gradient" in theirs:
            expected = torch.tensor(theirs["parameter_gradient"], dtype=torch.float64)
            assert cosine(in_their_order(of_parameters[0], expected), expected) > 0.99999, name
    assert moved, "no batch has a gradient"


def along_the_sphere(gradient, x):
    return gradient - (gradient * x).sum(1, keepdim=True) * x


def in_their_order(gradient, theirs):
    """Centers class after class, or as columns."""
    if gradient.ndim == 3:
        gradient = gradient.transpose(0, 1).flatten(0, 1)
    return gradient.T if gradient.ndim == 2 and gradient.shape != theirs.shape else gradient


def cosine(one, other):
    one, other = one.flatten(), other.flatten()
    return float(one @ other / one.norm() / other.norm())


def test_batches_repeat_classes_and_images_as_often_as_the_authors_code():
    theirs = RECORDED["roth2020/sampler"]["classes"]
    labels = np.repeat(np.arange(100), 59)
    sampler = build_sampler("spc_with_replacement", labels, batch_size=112, seed=0)
    batches = [rows for epoch in range(20) for rows in sampler.epoch(epoch)]
    of = labels[batches]
    assert {len(rows) for rows in batches} == {112}
    found = {
        "classes": np.mean([len(set(each)) for each in of]),
        "positive_pairs": np.mean([(each[:, None] == each).sum() / 2 - 56 for each in of]),
        "different_images": np.mean([len(set(rows)) for rows in batches]),
    }
    assert found == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("batch", fixed_batches())
def test_structure_is_measured_as_in_the_authors_code(batch):
    x, labels = fixed_batches()[batch]
    theirs = RECORDED["roth2020/pi"]["batches"][batch]
    assert score(x.numpy(), labels.numpy(), metrics=list(theirs)) == pytest.approx(theirs, rel=1e-5)


def test_pretrained_features_are_reduced_as_in_the_authors_code():
    weight, bias = standardized_projection(features(), 3)
    reduced = features() @ weight.T + bias
    reduced = torch.nn.functional.normalize(reduced)
    expected = torch.tensor(RECORDED["musgrave2020/pca"]["cosines"], dtype=torch.float64)
    torch.testing.assert_close(reduced @ reduced.T, expected, rtol=0, atol=1e-4)


def test_every_record_says_where_it_is_from():
    for name, record in RECORDED.items():
        assert record["repository"], name
        assert record["library"], name
        assert re.fullmatch(r"[0-9a-f]{7}", record.get("commit", "0" * 7)), name
        assert "commit" in record or name.startswith("musgrave2020/"), name
