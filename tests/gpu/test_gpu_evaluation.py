"""Every metric on a pretended GPU, by `device` or as tensors there: the CPU's scores."""

import functools

import numpy as np
import pytest
import torch
from dmlbench.evaluation import board, evaluate, speed, tile_search
from dmlbench.evaluation.names import CLUSTERING, RETRIEVAL, STRUCTURE
from dmlbench.evaluation.torch_points import TorchPoints
from dmlbench.training.device import use_precision
from pretended_gpu import PretendedTensor, pretended_gpu

METRICS = [*RETRIEVAL, "recall_at_1", "recall_at_10", "precision_at_4", *CLUSTERING, *STRUCTURE]
COARSE = [torch.bfloat16, None]


@functools.cache
def space(images, dim=16, classes=7):
    generator = np.random.default_rng(0)
    labels = np.sort(generator.integers(0, classes, images))
    centers = generator.standard_normal((classes, dim))
    vectors = centers[labels] + 1.2 * generator.standard_normal((images, dim))
    return vectors.astype(np.float32), labels


def hold(vectors, labels, metrics=METRICS, **options):
    """Raise unless the scores are the CPU's, by `device` and from tensors that are there."""
    here = evaluate(vectors, labels, metrics=metrics, **options).scores
    with pretended_gpu() as gpu:
        by_name = evaluate(vectors, labels, metrics=metrics, device="cuda:0", **options).scores
        tensors = (torch.from_numpy(vectors).to(gpu), torch.from_numpy(labels).to(gpu))
        gallery = options.pop("gallery", None)
        if gallery is not None:
            options["gallery"] = torch.from_numpy(gallery).to(gpu)
        there = evaluate(*tensors, metrics=metrics, **options).scores
    for found in (by_name, there):
        for name, expected in here.items():
            # Ranks are exact on every device; centers of clusters are sums in another order.
            exact = name not in CLUSTERING
            assert found[name] == (expected if exact else pytest.approx(expected, rel=1e-5)), name


@pytest.mark.parametrize("images", [30, 300, 1500])
def test_all_metrics_are_the_same_there(images):
    hold(*space(images))


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_a_gallery_is_searched_the_same_there(distance):
    vectors, labels = space(400)
    hold(
        vectors[:150],
        labels[:150],
        ["recall_at_1", "map_at_r", "mrr"],
        gallery=vectors[100:],
        gallery_labels=labels[100:],
        distance=distance,
    )


@pytest.mark.slow
@pytest.mark.parametrize("coarse", COARSE)
def test_ties_and_little_memory_are_the_same_there(monkeypatch, coarse):
    """Many tiles, each in every precision, and most similarities equal."""
    monkeypatch.setattr("dmlbench.evaluation.walk._WORTH_ROUNDING", 1)
    monkeypatch.setattr("dmlbench.evaluation.walk.coarse_precision", lambda device: coarse)
    vectors, labels = space(1300, classes=60)
    vectors = np.sign(vectors[:, :6])
    hold(vectors, labels, ["recall_at_1", "recall_at_100", "map_at_r", "mrr"], memory=2**20)


def test_sorted_rows_of_a_transposed_tile_lie_one_after_the_other_there():
    """As searchsorted wants them, which else copies all of them for each part of the rows."""
    values = torch.rand(30, 20, generator=torch.Generator().manual_seed(0))
    with pretended_gpu() as gpu:
        ordered = tile_search.sorted_rows(values.to(gpu).T)
        assert ordered.is_contiguous()
        assert torch.equal(ordered.cpu(), values.T.sort(dim=1).values)


@pytest.mark.slow
def test_scores_of_many_images_are_the_same_there():
    hold(*space(9000, 32, 300), memory=2**28)


@pytest.mark.slow
def test_the_probe_of_precision_runs_there():
    speed._probed.cache_clear()
    with pretended_gpu():
        assert speed.coarse_precision("cuda:0") in (None, torch.bfloat16)
    speed._probed.cache_clear()


def test_a_gpu_is_probed_with_more_than_the_start_of_a_product(monkeypatch):
    operations = {}

    def product(queries, gallery, out):
        operations[where] = 2 * out.numel() * queries.shape[1]

    monkeypatch.setattr(speed, "coarse_product", product)
    for where in ("cpu", "cuda"):
        with pretended_gpu():
            speed._seconds([torch.float32], where)
    # At 50 TFLOP/s, an H100's in float32, which starts a product in about ten microseconds.
    assert operations["cuda"] / 50e12 > 50e-6
    assert operations["cpu"] < 1e8


def made_on_the_cpu(monkeypatch):
    monkeypatch.setattr(
        board.torch, "arange", lambda *given, device=None, **more: ARANGE(*given, **more)
    )


def left_unsorted(monkeypatch):
    """A branch for GPUs that does something else."""
    monkeypatch.setattr(board, "sorted_rows", lambda values: values)


def centers_left_on_the_cpu(monkeypatch):
    monkeypatch.setattr(TorchPoints, "_there", lambda self, rows: torch.from_numpy(rows))


ARANGE = torch.arange


@pytest.mark.parametrize("mistake", [made_on_the_cpu, left_unsorted, centers_left_on_the_cpu])
def test_a_mistake_is_found(monkeypatch, mistake):
    mistake(monkeypatch)
    with pytest.raises((RuntimeError, AssertionError, TypeError)):
        hold(*space(300))


def test_ranks_are_walked_there_and_not_on_the_cpu(monkeypatch):
    """The walk's tiles are tensors of the GPU."""
    seen = []
    take = board.Board.take

    def watching(self, tile, *given, **more):
        seen.append(type(tile.values))
        return take(self, tile, *given, **more)

    monkeypatch.setattr(board.Board, "take", watching)
    with pretended_gpu():
        evaluate(*space(300), metrics=["recall_at_1"], device="cuda:0")
    assert set(seen) == {PretendedTensor}


@pytest.fixture
def precision():
    """What sets float32's precision; float32 again afterwards."""
    yield use_precision
    torch.backends.mkldnn.matmul.fp32_precision = "none"
    use_precision("float32")


def test_a_training_in_float32_follows_one_in_tf32(precision):
    vectors, labels = space(300)
    for name in ("tf32", "float32"):
        precision(name)
        with pretended_gpu():
            evaluate(vectors, labels, metrics=["recall_at_1"], device="cuda:0")
        assert torch.backends.cuda.matmul.allow_tf32 == (name == "tf32")
        # Of the CPU, which has no such mode, nothing was set.
        assert torch.backends.mkldnn.matmul.fp32_precision == "none"
    assert torch.get_float32_matmul_precision() == "highest"


def test_clusters_are_found_in_float32_whatever_was_set(precision, monkeypatch):
    precision("tf32")
    seen, product = [], torch.addmm

    def looking(*operands):
        seen.append(torch.backends.cuda.matmul.allow_tf32)
        return product(*operands)

    monkeypatch.setattr(torch, "addmm", looking)
    vectors, labels = space(300)
    with pretended_gpu():
        evaluate(vectors, labels, metrics=["nmi"], device="cuda:0")
    assert seen
    assert not any(seen)
    assert torch.backends.cuda.matmul.allow_tf32
