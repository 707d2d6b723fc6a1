"""The contract of miners: degenerate batches, half precision, one graph, bad values."""

import pytest
import torch
from dmlbench import part_files, registry
from dmlbench.errors import UserError
from dmlbench.miners import available, build_miner
from dmlbench.tuples import Pairs

MINERS = [name for name in available() if not name.startswith("karaman_")]
RANDOM = {"random", "semi_hard_random", "soft_hard", "one_positive", "distance_weighted"}
RANDOM |= {"distance_weighted_of_batch", "distance_weighted_pairs"}
NARROW = {
    "multi_similarity": {"epsilon": 1e-6},
    **{name: {"lower_cutoff": 0.0035, "upper_cutoff": 0.0045} for name in RANDOM if "dist" in name},
}
"""Options that tell embeddings apart which are close together."""


@pytest.mark.parametrize("name", MINERS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "labels",
    [[0], [0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 1, 1]],
    ids=["one sample", "one class", "no positives", "one negative", "pairs"],
)
@pytest.mark.parametrize("duplicates", [False, True])
def test_degenerate_batches_give_no_wrong_tuple(name, dtype, labels, duplicates):
    torch.manual_seed(0)
    labels = torch.tensor(labels)
    embeddings = torch.nn.functional.normalize(torch.randn(len(labels), 8)).to(dtype)
    if duplicates:
        embeddings = embeddings[:1].expand(len(labels), -1)
    mined = build_miner(name)(embeddings, labels)
    same = labels[:, None] == labels[None, :]
    itself = torch.eye(len(labels), dtype=torch.bool)
    first = mined.positive if isinstance(mined, Pairs) else mined.valid
    assert not (first & (~same | itself)).any()
    if isinstance(mined, Pairs):
        assert not (mined.negative & same).any()
    else:
        assert not same.gather(1, mined.negative)[mined.valid].any()


@pytest.mark.parametrize("name", MINERS)
def test_half_precision_neither_overflows_nor_rounds_the_comparisons(name):
    torch.manual_seed(0)
    embeddings = (1000 * torch.randn(12, 16)).half()
    labels = torch.arange(12) // 3
    torch.manual_seed(1)
    half = build_miner(name)(embeddings, labels)
    torch.manual_seed(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        single = build_miner(name)(embeddings.float(), labels)
    for mine, reference in zip(half, single, strict=True):
        assert torch.equal(mine, reference)


@pytest.mark.parametrize(
    "name", [name for name in available() if registry.preferred("miners", name)]
)
def test_tuples_of_embeddings_close_together_are_those_of_double_precision(name):
    torch.manual_seed(0)
    center, apart = torch.randn(1, 128), torch.randn(80, 128)
    embeddings = torch.nn.functional.normalize(center + 0.003 * apart)
    labels = torch.arange(80) // 4

    def mined(x, **options):
        torch.manual_seed(1)
        return build_miner(name, **{**NARROW.get(name, {}), **options})(x, labels)

    exact = mined(embeddings.double())
    assert all(map(torch.equal, mined(embeddings), exact))
    assert not all(map(torch.equal, mined(embeddings, centered=False), exact))


@pytest.mark.parametrize("name", MINERS)
def test_miners_are_one_graph_and_give_no_gradient(name):
    """A full graph has no host synchronization: `.item()` and data-dependent shapes break it."""
    torch.manual_seed(0)
    embeddings = torch.nn.functional.normalize(torch.randn(12, 8)).requires_grad_()
    labels = torch.arange(12) // 3
    torch.compiler.reset()  # all miners share the code of their contract, compiled for each
    mined = torch.compile(build_miner(name).__call__, backend="eager", fullgraph=True)(
        embeddings, labels
    )
    assert not any(part.requires_grad for part in mined)


@pytest.mark.parametrize("name", MINERS)
def test_random_draws_come_from_the_global_generator(name):
    embeddings = torch.nn.functional.normalize(
        torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    )
    labels = torch.arange(40) // 4
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(build_miner(name)(embeddings, labels))
    assert all(torch.equal(*parts) for parts in zip(draws[0], draws[1], strict=True))
    same = all(torch.equal(*parts) for parts in zip(draws[0], draws[2], strict=True))
    assert same == (name not in RANDOM)


@pytest.mark.parametrize(
    ("name", "hyperparameters", "message"),
    [
        (
            "multi_similarity",
            {"epsilon": float("nan")},
            ".*: epsilon is nan; allowed",
        ),
        (
            "distance_weighted",
            {"lower_cutoff": 0.0},
            ".*: lower_cutoff is 0.0; allowed",
        ),
        ("distance_weighted", {"upper_cutoff": 0.5}, "upper_cutoff = 0.5; allowed"),
        (
            "distance_weighted",
            {"positives": "some"},
            ".*: positives is 'some'; allowed: 'all'",
        ),
        (
            "hard",
            {"positives": "one"},
            "miners/hard: positives is 'one'; allowed: 'hardest'",
        ),
        ("semi_hard_random", {"margin": -1.0}, "miners/semi_hard_random: margin is -1.0; allowed"),
    ],
)
def test_a_bad_value_is_one_line(name, hyperparameters, message):
    with pytest.raises(UserError, match="^" + message) as error:
        build_miner(name, **hyperparameters)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", available())
def test_the_class_says_what_it_returns(name):
    source = (part_files._LIBRARY / "miners" / f"{name}.py").read_text()
    assert "-> Pairs:" in source or "-> Triplets:" in source
