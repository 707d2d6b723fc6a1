"""The properties of an epoch of each batch sampler."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.samplers import Batch, LearnsFromEmbeddings, available, build_sampler
from hypothesis import given, settings
from hypothesis import strategies as st

CUB = np.repeat(np.arange(100), np.random.default_rng(0).integers(41, 61, 100))
SKEWED = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 6, 7, 30, 9, 10, 1, 12])


def filled(sampler):
    """The sampler with an embedding for every row of its memory, if it has one."""
    if hasattr(sampler, "memory"):
        rows = len(sampler.memory.known)
        sampler.memory.update(
            np.arange(rows), np.random.default_rng(1).normal(size=(rows, 6)).astype(np.float32)
        )
    return sampler


def build(name, labels, batch_size=20, seed=0, **hyperparameters):
    if name in {"greedy_coreset", "distance_distribution", "frd"}:
        hyperparameters = {"pool_size": 60, **hyperparameters}
    return filled(build_sampler(name, labels, batch_size=batch_size, seed=seed, **hyperparameters))


def rows_of(batches):
    """The rows of each batch, as array or from a `Batch`."""
    for batch in batches:
        yield batch.rows if isinstance(batch, Batch) else batch


@st.composite
def labeled(draw):
    """Labels of classes of very different sizes, and a P x K that fits them."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    return labels, draw(st.integers(1, len(sizes))), draw(st.integers(1, 5))


@pytest.mark.parametrize("name", available())
def test_batches_are_index_arrays(name):
    sampler = build(name, CUB)
    batches = list(rows_of(sampler.epoch(0)))
    assert len(batches) == len(sampler) > 0
    for batch in batches:
        assert batch.shape == (20,)
        assert batch.dtype == np.int64
        assert batch.min() >= 0
        assert batch.max() < len(CUB)


@pytest.mark.parametrize("name", available())
def test_seed_and_epoch_determine_the_batches(name):
    def first(seed, number):
        return [
            batch.tolist()
            for batch in itertools.islice(rows_of(build(name, CUB, seed=seed).epoch(number)), 5)
        ]

    assert first(0, 3) == first(0, 3)
    assert first(0, 3) != first(0, 4)
    assert first(0, 3) != first(1, 3)


@pytest.mark.parametrize("name", available())
def test_an_epoch_resumes_in_the_middle(name):
    """The memory changes with every batch, and is carried over as a checkpoint would."""

    def train(sampler, batches):
        for batch in rows_of(batches):
            if isinstance(sampler, LearnsFromEmbeddings):
                sampler.update(batch, np.sin(np.outer(batch + 1, np.arange(1, 7)) + len(seen)))
            seen.append(batch.tolist())

    seen = []
    whole = build(name, CUB)
    train(whole, itertools.islice(whole.epoch(2), 9))
    uninterrupted, seen = seen, []

    killed = build(name, CUB)
    train(killed, itertools.islice(killed.epoch(2), 4))
    resumed = build(name, CUB)
    if isinstance(killed, LearnsFromEmbeddings):
        resumed.load_state_dict(killed.state_dict())
    train(resumed, itertools.islice(resumed.epoch(2), 4, 9))
    assert seen == uninterrupted


@pytest.mark.parametrize("name", available())
def test_asking_for_an_epoch_changes_nothing(name):
    sampler = build(name, CUB)
    other = sampler.epoch(1)
    next(other)
    once = [batch.tolist() for batch in itertools.islice(rows_of(sampler.epoch(0)), 3)]
    next(other)
    assert once == [batch.tolist() for batch in itertools.islice(rows_of(sampler.epoch(0)), 3)]


def test_samplers_that_learn_say_so():
    learning = {name for name in available() if isinstance(build(name, CUB), LearnsFromEmbeddings)}
    assert learning == {"greedy_coreset", "distance_distribution", "frd", "profs_hncm"}


def test_random_shows_every_image_once_but_the_last():
    sampler = build("random", CUB)
    shown = np.concatenate(list(sampler.epoch(0)))
    assert len(shown) == len(np.unique(shown)) == len(CUB) // 20 * 20


@settings(max_examples=60, deadline=None)
@given(labeled(), st.integers(0, 3))
def test_class_balanced_deals_groups_of_distinct_classes(drawn, number):
    labels, classes, images_per_class = drawn
    sampler = build_sampler(
        "class_balanced",
        labels,
        batch_size=classes * images_per_class,
        images_per_class=images_per_class,
    )
    size, shown, groups = Counter(labels.tolist()), Counter(), Counter()
    batches = list(sampler.epoch(number))
    assert len(batches) == len(sampler)
    for batch in batches:
        blocks = labels[batch].reshape(classes, images_per_class)
        assert (blocks == blocks[:, :1]).all()
        assert len(set(blocks[:, 0].tolist())) == classes
        shown.update(batch.tolist())
        groups.update(blocks[:, 0].tolist())
    for image, times in shown.items():
        if size[labels[image]] >= images_per_class:
            assert times == 1
        else:
            few = images_per_class / size[labels[image]]
            assert math.floor(few) <= times <= math.ceil(few)
    # The most batches there can be: one more would need more groups than the classes have.
    available_groups = {label: max(n // images_per_class, 1) for label, n in size.items()}
    assert all(groups[label] <= available_groups[label] for label in groups)
    more = len(batches) + 1
    assert sum(min(n, more) for n in available_groups.values()) < classes * more


def test_class_balanced_covers_all_but_the_remainders():
    sampler = build("class_balanced", CUB, batch_size=180, images_per_class=5)
    groups = sum(int(n) // 5 for n in np.bincount(CUB))
    assert len(sampler) == groups // 36
    seen = set()
    for number in range(8):
        seen.update(np.concatenate(list(sampler.epoch(number))).tolist())
    assert len(seen) == len(CUB)


@pytest.mark.parametrize("name", ["class_balanced_with_replacement", "spc", "profs", "profs_hncm"])
@settings(max_examples=25, deadline=None)
@given(drawn=labeled())
def test_classes_of_a_batch_are_distinct(name, drawn):
    labels, classes, images_per_class = drawn
    sampler = build_sampler(
        name, labels, batch_size=classes * images_per_class, images_per_class=images_per_class
    )
    size = Counter(labels.tolist())
    for batch in rows_of(sampler.epoch(0)):
        blocks = batch.reshape(classes, images_per_class)
        assert (labels[blocks] == labels[blocks][:, :1]).all()
        assert len(set(labels[blocks][:, 0].tolist())) == classes
        for block in blocks if name != "class_balanced_with_replacement" else []:
            times = Counter(block.tolist())
            assert len(times) == min(images_per_class, size[labels[block[0]]])
            assert max(times.values()) - min(times.values()) <= 1


@pytest.mark.parametrize("name", ["class_balanced", "class_balanced_with_replacement", "spc"])
def test_images_and_classes_are_drawn_evenly(name):
    labels = np.repeat(np.arange(10), 8)
    sampler = build_sampler(name, labels, batch_size=12, images_per_class=3)
    shown = np.concatenate([batch for number in range(300) for batch in sampler.epoch(number)])
    counts = np.bincount(shown, minlength=80)
    expected = counts.sum() / 80
    assert np.abs(counts - expected).max() < 6 * math.sqrt(expected)


def test_with_replacement_repeats_images_within_a_batch():
    sampler = build("class_balanced_with_replacement", SKEWED, batch_size=20, images_per_class=5)
    assert any(len(np.unique(batch)) < 20 for batch in sampler.epoch(0))


@settings(max_examples=40, deadline=None)
@given(labeled(), st.integers(0, 3))
def test_spc_r_ends_with_a_positive_of_the_batch(drawn, number):
    labels, batch_size, _ = drawn
    if batch_size < 2 or max(Counter(labels.tolist()).values()) < 2:
        return
    for batch in build_sampler("spc_r", labels, batch_size=batch_size).epoch(number):
        assert len(np.unique(batch)) == batch_size
        assert labels[batch[-1]] in labels[batch[:-1]]


@pytest.mark.parametrize("name", ["profs", "profs_hncm"])
def test_representatives_stay_for_m_steps_and_use_up_the_class(name):
    """Positions 0, I, 2I, ... hold the representatives, over epoch ends as well."""
    sampler = build(name, SKEWED, batch_size=12, images_per_class=3, rho=2.0)
    period = sampler.iterations_per_projection
    assert period == math.ceil(2.0 * 3 * 12 / 12)
    used = [{} for _ in range(40)]
    for number in range(40):
        for position, batch in enumerate(sampler.epoch(number)):
            step = number * len(sampler) + position
            assert batch.projection == step // period
            assert batch.representatives.tolist() == [0, 3, 6, 9]
            for image in batch.rows[batch.representatives]:
                if step // period < len(used):
                    known = used[step // period].setdefault(SKEWED[image], image)
                    assert known == image
    sizes = np.bincount(SKEWED)
    drawn = np.stack([sampler.representatives(k) for k in range(60)])
    for label, size in enumerate(sizes):
        assert (SKEWED[drawn[:, label]] == label).all()
        for start in range(0, 60 - size + 1, size):
            assert len(set(drawn[start : start + size, label])) == size
    for projection, representatives in enumerate(used):
        for label, image in representatives.items():
            assert drawn[projection, label] == image


@pytest.mark.parametrize(("classes", "printed"), [(100, 10), (98, 10), (11318, 1062)])
def test_profs_projects_for_ceil_rho_over_p_steps(classes, printed):
    """CUB, Cars196 and SOP with B = 128, I = 2, rho = 6 (can2019, section 5.4.1)."""
    labels = np.repeat(np.arange(classes), 2)
    assert build_sampler("profs", labels, batch_size=128).iterations_per_projection == printed
    fixed = build_sampler("profs", labels, batch_size=128, iterations_per_projection=7)
    assert fixed.iterations_per_projection == 7


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("class_balanced", {"batch_size": 21}, "batch_size = 21; allowed: a multiple of"),
        (
            "class_balanced",
            {"batch_size": 65},
            "batch_size = 65 with images_per_class = 5",
        ),
        ("spc", {"images_per_class": -1}, "samplers/spc: images_per_class is -1; allowed"),
        ("spc", {"images_per_class": 2.5}, "samplers/spc: images_per_class is 2.5; allowed"),
        ("random", {"batch_size": 0}, "batch_size: 0; allowed"),
        ("random", {"batch_size": 1000}, "batch_size = 1000; allowed: at most the 90 images"),
        ("random", {"seed": -1}, "seed: -1; allowed"),
        ("random", {"labels": []}, r"labels: shape \(0,\)"),
        ("random", {"labels": [0.5] * 30}, "labels: float64; allowed: integers"),
        ("spc_r", {"batch_size": 1}, "batch_size = 1; allowed"),
        ("spc_r", {"labels": range(30)}, "labels give every class one image"),
        ("frd", {"pool_size": 10}, "pool_size = 10; allowed: at least batch_size = 20"),
        ("frd", {"candidates": 0}, "samplers/frd: candidates is 0; allowed"),
        (
            "distance_distribution",
            {"bins": 0},
            "samplers/distance_distribution: bins is 0; allowed",
        ),
        ("profs", {"rho": 0.0}, "samplers/profs: rho is 0.0; allowed"),
        (
            "profs",
            {"iterations_per_projection": 0},
            "samplers/profs: iterations_per_projection is 0",
        ),
    ],
)
def test_a_bad_value_is_one_line(name, arguments, message):
    arguments = {"labels": SKEWED, "batch_size": 20, **arguments}
    with pytest.raises(UserError, match="^" + message) as error:
        build_sampler(name, arguments.pop("labels"), **arguments)
    assert "\n" not in str(error.value)
