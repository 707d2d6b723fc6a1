"""Our losses, miners, samplers and measures against what the authors' public code computed.

`benchmarks/authors.py` ran that code on fixed batches and wrote recorded.json. A part of a study's
code variant must have the same gradient, up to a stated factor, and draw the same tuples. Gradients
are compared along the unit sphere, on which embeddings are normalized before a loss sees them.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from author_batches import (
    CLASSES,
    DIMENSIONS,
    DRAWS,
    Fixed,
    features,
    fixed_batches,
    proxies,
    wide_batch,
)
from dmlbench import registry
from dmlbench.evaluation import score
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.miners.distance_weighted import log_density
from dmlbench.plan import Row
from dmlbench.samplers import build_sampler
from dmlbench.training.principal_components import standardized_projection
from dmlbench.tuples import Pairs, Triplets
from project import REPOSITORY, every_study

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
LOSSES = sorted(name for name in RECORDED if re.fullmatch(r"\w+/\w+", name))
LOSSES = [name for name in LOSSES if "value" in json.dumps(RECORDED[name])]
STUDIES = ("roth2020", "musgrave2020", "psomas2020")

WHERE = {
    "roth2020": ("resnet50", 128, "half", None),
    "psomas2020": ("bninception", 512, "half", None),
    "musgrave2020": ("bninception", 128, "half4fold", 0),
}
VARIANTS = {
    "roth2020/contrastive": "miner=D,code",
    "roth2020/triplet": "miner=D,code",
    "roth2020/snr": "miner=D,code",
    "roth2020/margin": "miner=D,code,beta=1.2",
} | {
    f"psomas2020/{name}": "code_losses"
    for name in (
        "contrastive",
        "triplet",
        "lifted_structure",
        "n_pair",
        "margin",
        "multi_similarity",
    )
}
"""The variant of the row whose spec has the code's part; `code` in roth2020 and musgrave2020."""

# With what their losses were recorded, where searches or other terms set the values.
GIVEN = {
    "roth2020/n_pair": {"l2": 0},
    "roth2020/angular": {"l2": 0},
    "roth2020/generalized_lifted": {"l2": 0},
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
    # Means over pairs instead of the sum of two means.
    "roth2020/contrastive": lambda pairs: 0.5,
    # Theirs is the mean over the anchors that keep pairs, ours over all.
    "roth2020/multi_similarity": lambda pairs: (
        (pairs.positive.any(1) & pairs.negative.any(1)).double().mean()
    ),
}


@pytest.fixture(scope="module")
def loaded():
    return every_study()


def spec_of(loaded, entry):
    """The spec of a study's row with the code's part."""
    study, method = entry.split("/")
    network, size, split, fold = WHERE[study]
    recipe = study if study != "psomas2020" or "proxy_2" in method else "psomas2020_code"
    variant = VARIANTS.get(entry, "" if study == "psomas2020" else "code")
    return loaded.spec(Row(study, "cub200", network, size, method, recipe, variant, split, fold, 0))


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
        return Pairs(first, second)
    negative = torch.zeros(size, size, dtype=torch.int64)
    negative[anchors, positives] = negatives
    return Triplets(negative, first)


@pytest.mark.parametrize("entry", LOSSES)
def test_a_loss_has_the_gradient_of_the_authors_code(loaded, entry):
    spec = spec_of(loaded, entry)
    loss = built_like_theirs(spec, entry)
    moved = 0
    for name, batch in fixed_batches().items():
        theirs = RECORDED[entry]["batches"][name]
        x = batch.x.clone().requires_grad_()
        tuples = tuples_for(spec, batch, theirs.get("tuples"), entry)
        value = loss(x, batch.labels, *([] if tuples is None else [tuples]))
        gradient, *of_parameters = torch.autograd.grad(value, [x, *loss.parameters()])
        factor = float(FACTORS[entry](tuples)) if entry in FACTORS else 1.0
        assert value.item() == pytest.approx(factor * theirs["value"], rel=1e-4, abs=1e-5), name
        expected = torch.tensor(theirs["gradient"], dtype=torch.float64)
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


MINERS = {
    "roth2020/miner softhard": ("soft_hard", {"fallback": "any"}),
    "roth2020/miner semihard": ("semi_hard_random", {"margin": 0.2, "fallback": "any"}),
    "roth2020/miner distance": ("distance_weighted", {"upper_cutoff": 2, "positives": "one"}),
    "roth2020/miner npair": ("one_positive", {}),
    "psomas2020/miner distance": ("distance_weighted_of_batch", {}),
}


@pytest.mark.parametrize("entry", MINERS)
def test_the_miners_are_those_of_the_code_variants(loaded, entry):
    rows = rows_with(loaded, entry.partition("/")[0], *MINERS[entry])
    assert any("code" in row.variant for row in rows)


@pytest.mark.parametrize("entry", MINERS)
def test_a_miner_draws_what_the_authors_code_draws(entry):
    name, options = MINERS[entry]
    torch.manual_seed(0)
    for batch, theirs in RECORDED[entry]["batches"].items():
        fixed = {"wide": wide_batch(), **fixed_batches()}[batch]
        ours = counts(build_miner(name, **options), fixed, repetitions := DRAWS // 10)
        compared = ~nearly_opposite(fixed) if name == "distance_weighted" else slice(None)
        for kind, found in zip(("positive", "negative"), ours[:, compared], strict=True):
            expected = np.array(theirs[kind])[compared] / DRAWS
            each = expected.sum(1).max()
            found = found / repetitions
            assert not found[expected == 0].any(), batch
            np.testing.assert_allclose(found, expected, atol=0.12 * each**0.5, err_msg=batch)
            # The sum over a row of the squared differences has a smaller spread.
            assert np.square(found - expected).sum(1).mean() < 2 * each / repetitions, batch


def nearly_opposite(batch: Fixed):
    """Anchors with a negative so far that its weight in the code exceeds that at the cutoff."""
    distance = torch.cdist(batch.x, batch.x)
    weight, largest = (
        -log_density(distance, DIMENSIONS),
        -log_density(torch.tensor(0.5), DIMENSIONS),
    )
    found = ((weight > largest) & (distance > 1.5)).any(1).numpy()
    assert found.sum() <= 4, "too few anchors are left"
    return found


def counts(miner, batch: Fixed, repetitions: int):
    """How often each positive and negative of an anchor is drawn: [B, B] each."""
    size = len(batch.x)
    found = np.zeros((2, size, size))
    for _ in range(repetitions):
        mined = miner(batch.x.float(), batch.labels)
        if isinstance(mined, Pairs):
            found += np.stack([pairs.numpy() for pairs in mined])
        else:
            anchors, positives = np.nonzero(mined.valid.numpy())
            np.add.at(found[0], (anchors, positives), 1)
            np.add.at(found[1], (anchors, mined.negative.numpy()[anchors, positives]), 1)
    return found


def test_weights_of_the_library_underflow_where_ours_do_not():
    """512 dimensions: every anchor of the code draws uniformly, near and far."""
    theirs = np.array(RECORDED["psomas2020/miner distance"]["batches"]["wide"]["negative"])
    labels = wide_batch().labels.numpy()
    drawn = theirs[labels[:, None] != labels] / DRAWS
    np.testing.assert_allclose(drawn, 3 / 8, atol=0.05)


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


SAID = re.compile(r"the same \(tested: ([\w ,/]+)\)")
MEASURES = {"roth2020/pi", "roth2020/sampler", "musgrave2020/pca"}
"""Recorded, with a test of their own above."""


def test_everything_recorded_is_tested():
    assert set(RECORDED) == set(LOSSES) | set(MINERS) | MEASURES


def said_to_be_the_same(study):
    """Each entry that the study's page calls the same, and whether it says so of a variant."""
    for cell in cells_of(study):
        before = 0
        for said in SAID.finditer(cell):
            words = cell[before : said.start()]
            before = said.end()
            for name in said[1].split(", "):
                yield f"{study}/{name}", "variant" in words or "code" in words


def cells_of(study):
    text = (REPOSITORY / "docs" / f"{study}.md").read_text()
    return [
        cell.strip()
        for line in text.splitlines()
        if line.startswith("|")
        for cell in line.strip("|").split(" | ")
    ]


@pytest.mark.parametrize("study", STUDIES)
def test_a_protocol_page_says_the_same_only_where_it_is_tested(study):
    for cell in cells_of(study):
        if "the same" in cell:
            assert SAID.search(cell), (
                f"{study}.md: {cell!r}: say what is tested, or 'as the text says'"
            )
    said = dict(said_to_be_the_same(study))
    assert said
    assert set(said) <= set(RECORDED)


@pytest.mark.parametrize("study", ["can2019", "karaman2021"])
def test_a_page_without_public_code_says_as_the_text_says(study):
    assert not [cell for cell in cells_of(study) if re.match(r"the same\b", cell)]


@pytest.mark.parametrize("study", STUDIES)
def test_what_a_page_calls_the_same_without_a_variant_is_what_the_study_runs(loaded, study):
    """The code's loss is then the study's own, apart from numbers, which have their own rows."""
    for entry, of_variant in said_to_be_the_same(study):
        if entry in LOSSES and not of_variant:
            assert form_of(text_of(loaded, entry)) == form_of(spec_of(loaded, entry)), entry
        if entry in MINERS:
            variants = [row.variant for row in rows_with(loaded, study, *MINERS[entry])]
            assert any(("code" in variant) == of_variant for variant in variants), entry


def text_of(loaded, entry):
    """The spec of the same row without any variant of the code."""
    study, method = entry.split("/")
    network, size, split, fold = WHERE[study]
    variant = ",".join(p for p in VARIANTS.get(entry, "").split(",") if not p.startswith("code"))
    return loaded.spec(Row(study, "cub200", network, size, method, study, variant, split, fold, 0))


def form_of(spec):
    options = spec.loss.hyperparameters.items()
    return spec.loss.name, {name: value for name, value in options if type(value) in (bool, str)}


def rows_with(loaded, study, miner, options):
    """The study's rows whose miner has these options."""
    for row in loaded.rows(study):
        found = loaded.spec(row).miner
        if found and found.name == miner and options.items() <= found.hyperparameters.items():
            yield row
