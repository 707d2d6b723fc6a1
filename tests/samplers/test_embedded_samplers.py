"""Samplers that choose by embedding, against brute force, scipy, and their definitions."""

import io
import itertools

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.samplers import build_sampler
from dmlbench.samplers._memory import EmbeddingMemory
from dmlbench.samplers.distance_distribution import wasserstein
from dmlbench.samplers.frd import frechet
from scipy import linalg, spatial, stats

LABELS = np.arange(40) // 4


def embeddings(seed: int, rows: int = 40, dimension: int = 5) -> np.ndarray:
    """Two clusters and a spread, so that batches differ."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, dimension)) * rng.exponential(size=(rows, 1))).astype(np.float32)


def built(name, points, batch_size=6, pool_size=40, **hyperparameters):
    sampler = build_sampler(
        name, LABELS, batch_size=batch_size, pool_size=pool_size, **hyperparameters
    )
    sampler.update(np.arange(len(points)), points)
    return sampler


@pytest.mark.parametrize("seed", range(5))
def test_greedy_coreset_always_adds_the_farthest(seed):
    points = embeddings(seed)
    far = spatial.distance.cdist(points, points)
    for batch in itertools.islice(built("greedy_coreset", points).epoch(seed), 4):
        for step in range(1, 6):
            nearest = far[:, batch[:step]].min(axis=1)
            assert nearest[batch[step]] == pytest.approx(nearest.max(), rel=1e-5)


def test_greedy_coreset_is_within_twice_the_best_cover():
    """The greedy k-center bound, against all batches of three images out of twelve."""
    points = embeddings(0, rows=12)
    far = spatial.distance.cdist(points, points)
    best = min(
        far[:, list(batch)].min(axis=1).max() for batch in itertools.combinations(range(12), 3)
    )
    sampler = build_sampler("greedy_coreset", np.arange(12) // 2, batch_size=3, pool_size=12)
    sampler.update(np.arange(12), points)
    for batch in sampler.epoch(0):
        assert far[:, batch].min(axis=1).max() <= 2 * best + 1e-6


def test_greedy_coreset_covers_duplicates_without_repeating_an_image():
    sampler = built("greedy_coreset", np.ones((40, 3), dtype=np.float32))
    for batch in sampler.epoch(0):
        assert len(np.unique(batch)) == 6


@pytest.mark.parametrize("name", ["greedy_coreset", "distance_distribution", "frd"])
def test_batches_come_from_a_pool_of_the_memory(name):
    """With pool_size = batch_size there is nothing to choose: the batch is the pool."""
    sampler = built(name, embeddings(0), batch_size=6, pool_size=6)
    batches = list(sampler.epoch(0))
    assert all(len(np.unique(batch)) == 6 for batch in batches)
    assert len(np.unique(np.concatenate(batches))) > 12


def candidates_of(sampler, points, number, position):
    """The pool and the candidate batches that a batch is chosen from, drawn as documented."""
    rng = np.random.default_rng(np.random.SeedSequence([0, number, position]))
    pool = rng.permutation(len(points))[: sampler.pool_size]
    size = sampler.batch_size
    return pool, [
        pool[rng.choice(len(pool), size, replace=False)] for _ in range(sampler.candidates)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_distance_distribution_picks_the_nearest_histogram(seed):
    points = embeddings(seed)
    sampler = built("distance_distribution", points, pool_size=25, candidates=12, bins=20)
    for position, batch in enumerate(sampler.epoch(seed)):
        pool, candidates = candidates_of(sampler, points, seed, position)
        limit = spatial.distance.pdist(points[pool].astype(np.float64)).max()
        edges = np.linspace(0, limit * (1 + 1e-6), 21)

        def histogram(images, edges=edges):
            distances = spatial.distance.pdist(points[images].astype(np.float64))
            return np.histogram(distances, edges)[0]

        middles = (edges[1:] + edges[:-1]) / 2
        errors = [
            stats.wasserstein_distance(middles, middles, histogram(images), histogram(pool))
            for images in candidates
        ]
        chosen = [set(images) for images in candidates].index(set(batch))
        assert errors[chosen] == pytest.approx(min(errors), abs=0.02 * limit)
        assert errors[chosen] < np.median(errors)


@pytest.mark.parametrize("seed", range(4))
def test_frd_picks_the_smallest_frechet_distance(seed):
    points = embeddings(seed)
    sampler = built("frd", points, batch_size=8, pool_size=25, candidates=12)
    for position, batch in enumerate(sampler.epoch(seed)):
        pool, candidates = candidates_of(sampler, points, seed, position)
        errors = [frechet_by_sqrtm(points[images], points[pool]) for images in candidates]
        assert batch.tolist() == candidates[int(np.argmin(errors))].tolist()


def frechet_by_sqrtm(batch, pool):
    batch, pool = batch.astype(np.float64), pool.astype(np.float64)
    first, second = np.cov(batch, rowvar=False), np.cov(pool, rowvar=False)
    root = np.real(linalg.sqrtm(first @ second))
    return np.square(batch.mean(0) - pool.mean(0)).sum() + np.trace(first + second - 2 * root)


@pytest.mark.parametrize("size", [3, 8, 30])
def test_frechet_equals_the_matrix_square_root(size):
    """Batches smaller and larger than D = 5; sqrtm is exact to 1e-6 on singular matrices."""
    pool = embeddings(7).astype(np.float64)
    batch = pool[:size]
    mine = frechet(batch, pool.mean(0), np.cov(pool, rowvar=False))
    assert mine == pytest.approx(frechet_by_sqrtm(batch, pool), rel=1e-5)
    assert frechet(pool, pool.mean(0), np.cov(pool, rowvar=False)) == pytest.approx(0, abs=1e-9)


def test_wasserstein_equals_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = rng.dirichlet(np.ones(15), size=2)
        bins = np.arange(15)
        reference = stats.wasserstein_distance(bins, bins, first, second)
        assert wasserstein(first, second) == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize("name", ["greedy_coreset", "distance_distribution", "frd"])
def test_the_first_epoch_fills_the_memory(name):
    points = embeddings(0)
    sampler = build_sampler(name, LABELS, batch_size=6, pool_size=12)
    for batch in itertools.chain(sampler.epoch(0), itertools.islice(sampler.epoch(1), 1)):
        assert len(np.unique(batch)) == 6
        assert not sampler.memory.known[batch].all()
        sampler.update(batch, points[batch])
    assert sampler.memory.known.all()
    np.testing.assert_array_equal(sampler.memory.embeddings, points)


def test_hncm_takes_the_nearest_classes():
    labels = np.arange(60) // 3
    sampler = build_sampler("profs_hncm", labels, batch_size=10, images_per_class=2)
    centers = embeddings(3, rows=20)
    sampler.memory.update(np.arange(20), centers)
    far = spatial.distance.cdist(centers, centers)
    first = set()
    for batch in sampler.epoch(0):
        classes = labels[batch.rows[batch.representatives]]
        nearest = np.argsort(far[classes[0]])[:5]
        assert set(classes) == set(nearest)
        first.add(classes[0])
    assert len(first) > 2


def test_hncm_remembers_its_representatives_and_meets_every_class():
    labels = np.arange(60) // 3
    points = torch.from_numpy(embeddings(1, rows=60)).to(torch.bfloat16)
    sampler = build_sampler("profs_hncm", labels, batch_size=10, images_per_class=2)
    latest = {}
    for number in range(12):
        for batch in sampler.epoch(number):
            sampler.update(batch.rows, points[batch.rows])
            for image in batch.rows[batch.representatives]:
                latest[labels[image]] = points[image].float().numpy()
    assert sampler.memory.known.all()
    for label, embedding in latest.items():
        np.testing.assert_array_equal(sampler.memory.embeddings[label], embedding)


@pytest.mark.parametrize("known", [0, 1, 3, 19])
def test_hncm_fills_a_batch_by_chance_where_too_few_classes_are_known(known):
    """No class is preferred for its position: over many batches all occur about equally often."""
    sampler = build_sampler("profs_hncm", np.arange(40) // 2, batch_size=10, images_per_class=2)
    if known:
        sampler.memory.update(np.arange(known), embeddings(3, rows=known))
    times = np.zeros(20)
    for seed in range(2000):
        drawn, *others = sampler.choose_classes(np.random.default_rng(seed))
        assert len({drawn, *others}) == 5
        if drawn < known:
            assert sum(other < known for other in others) == min(known - 1, 4)
        else:
            assert sum(other >= known for other in others) == min(20 - known - 1, 4)
        if drawn >= known:
            times[others] += 1
    if 20 - known >= 5:
        unknown = times[known:]
        assert not times[:known].any()
        assert abs(unknown - unknown.mean()).max() < 6 * np.sqrt(unknown.mean())


def test_hncm_takes_the_classes_with_the_nearest_centers_of_a_loss():
    labels = np.arange(60) // 3
    sampler = build_sampler("profs_hncm", labels, batch_size=10, images_per_class=2)
    centers = embeddings(3, rows=20)
    sampler.use_centers(lambda: centers)
    far = spatial.distance.cdist(centers, centers)
    first, *others = sampler.epoch(0)
    for batch in others:
        assert (labels[batch.rows].reshape(5, 2) == labels[batch.rows[::2], None]).all()
    assert not sampler.memory.known.any()
    # The images say nothing: they are all equal.
    sampler.update(first.rows, np.zeros((10, 6), dtype=np.float32))
    for batch in sampler.epoch(1):
        classes = labels[batch.rows[batch.representatives]]
        assert set(classes) == set(np.argsort(far[classes[0]])[:5])


def test_memory_survives_a_checkpoint():
    memory = EmbeddingMemory(5)
    memory.update(torch.tensor([3, 1]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]).half())
    file = io.BytesIO()
    torch.save(memory.state_dict(), file)
    state = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    memory.update([3], [[9.0, 9.0]])
    copy = EmbeddingMemory(5)
    copy.load_state_dict(state)
    assert copy.known.tolist() == [False, True, False, True, False]
    assert copy.embeddings[[3, 1]].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    copy.update([0], [[5.0, 6.0]])
    assert state["known"].tolist() == [False, True, False, True, False]

    empty = EmbeddingMemory(5)
    empty.load_state_dict(EmbeddingMemory(5).state_dict())
    empty.update([0], [[1.0, 2.0, 3.0]])
    assert empty.embeddings.shape == (5, 3)


def test_memory_refuses_what_does_not_fit():
    memory = EmbeddingMemory(5)
    with pytest.raises(UserError, match="indices 0 to 5; allowed: 0 to 4"):
        memory.update([0, 5], np.zeros((2, 3)))
    memory.update([0], np.zeros((1, 3)))
    with pytest.raises(UserError, match=r"shape \(1, 4\); allowed: \(1, 3\)"):
        memory.update([0], np.zeros((1, 4)))
    with pytest.raises(UserError, match="a state of 4 rows; allowed: 5"):
        memory.load_state_dict(EmbeddingMemory(4).state_dict())


@pytest.mark.parametrize("name", ["greedy_coreset", "distance_distribution", "frd"])
@pytest.mark.parametrize("known", [True, False])
def test_groups_of_a_class_come_together(name, known):
    """As in the public code: pairs of a class, each image at most once in a batch."""
    sampler = build_sampler(name, LABELS, batch_size=6, pool_size=20, group_size=2)
    if known:
        sampler.update(np.arange(40), embeddings(0))
    batches = list(sampler.epoch(0))
    for batch in batches:
        first, second = LABELS[batch].reshape(3, 2).T
        assert first.tolist() == second.tolist()
        assert len(np.unique(batch)) == 6
    assert [list(batch) for batch in sampler.epoch(0)] == [list(batch) for batch in batches]
    assert len({tuple(batch) for batch in batches}) == len(batches)


@pytest.mark.parametrize(
    ("name", "first_epoch", "second_epoch"),
    [
        ("distance_distribution", [10, 12, 23, 24, 28, 26], [20, 23, 24, 21, 19, 18]),
        ("frd", [39, 36, 10, 12, 16, 19], [0, 2, 24, 21, 29, 27]),
        ("greedy_coreset", [0, 4, 23, 24, 28, 26], [19, 18, 29, 27, 24, 21]),
    ],
)
def test_batches_of_groups_are_those_of_the_samplers_of_groups(name, first_epoch, second_epoch):
    """Recorded when each sampler had a second file for groups."""
    labels, points = np.arange(40) // 5, np.arange(120).reshape(40, 3) * 7 % 11
    sampler = build_sampler(name, labels, batch_size=6, seed=3, pool_size=20, group_size=2)
    assert next(sampler.epoch(0)).tolist() == [0, 4, 28, 26, 30, 32]
    sampler.update(np.arange(40), points)
    assert next(sampler.epoch(0)).tolist() == first_epoch
    assert next(sampler.epoch(1)).tolist() == second_epoch


def test_groups_fill_the_memory_first():
    sampler = build_sampler("frd", LABELS, batch_size=6, pool_size=20, group_size=2)
    batches = itertools.chain.from_iterable(map(sampler.epoch, itertools.count()))
    for number, batch in enumerate(batches):
        if sampler.memory.known.all():
            break
        assert not sampler.memory.known[batch].all()
        assert number > 2 or not sampler.memory.known[batch].any()
        sampler.update(batch, np.zeros((6, 3)))
    assert 7 <= number <= 20


def test_greedy_coreset_of_groups_adds_the_farthest_first_images():
    points = embeddings(3)
    far = spatial.distance.cdist(points, points)
    sampler = build_sampler("greedy_coreset", LABELS, batch_size=8, pool_size=40, group_size=4)
    sampler.update(np.arange(40), points)
    for batch in sampler.epoch(0):
        one, other = batch[::4]
        # Each class of four is a group; its first image is random, so compare with classes' best.
        assert far[one, other] > 0
        assert set(LABELS[batch]) == {LABELS[one], LABELS[other]}


@pytest.mark.parametrize(
    ("labels", "batch_size", "group_size"), [(LABELS, 6, 4), (np.arange(40), 6, 2)]
)
def test_groups_that_do_not_fill_a_batch_are_one_line(labels, batch_size, group_size):
    with pytest.raises(
        UserError, match=f"batch_size = {batch_size} with group_size = {group_size}"
    ):
        build_sampler("frd", labels, batch_size=batch_size, pool_size=20, group_size=group_size)
