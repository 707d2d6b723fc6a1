"""Parts of a spec that do not fit each other are refused before a job starts."""

import pytest
from dmlbench import registry
from dmlbench.data.transforms import build_transforms
from dmlbench.errors import UserError
from dmlbench.plan.specs.fitting import check_batch, check_transforms
from dmlbench.samplers import build_sampler
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("sampler", "batch_size", "said"),
    [
        ({"name": "class_balanced"}, 101, "101; allowed: a multiple of images_per_class, 5"),
        ({"name": "spc", "images_per_class": 4}, 6, "6; allowed: a multiple of .*, 4"),
        ({"name": "frd", "group_size": 2}, 11, "11; allowed: a multiple of group_size, 2"),
        ({"name": "frd", "pool_size": 10}, 11, "11; allowed: up to pool_size, 10"),
        ({"name": "spc_r"}, 1, "1; allowed: 2 or more"),
    ],
)
def test_a_batch_that_cannot_be_is_named(sampler, batch_size, said):
    with pytest.raises(UserError, match=f"^sampler {sampler['name']}: batch_size is {said}"):
        check_batch(sampler, batch_size)


@given(
    name=st.sampled_from(registry.available("samplers")),
    images_per_class=st.integers(1, 4),
    group_size=st.integers(1, 4),
    pool_size=st.integers(1, 20),
    batch_size=st.integers(1, 24),
)
def test_it_refuses_what_the_sampler_refuses_of_data_enough(
    name, images_per_class, group_size, pool_size, batch_size
):
    options = {
        "images_per_class": images_per_class,
        "group_size": group_size,
        "pool_size": pool_size,
    }
    taken = registry.options("samplers", name)
    options = {key: value for key, value in options.items() if key in taken}
    labels = [label for label in range(24) for _ in range(4)]

    def refused(function, *given, **named):
        try:
            function(*given, **named)
        except UserError:
            return True
        return False

    planned = refused(check_batch, {"name": name, **options}, batch_size)
    assert planned == refused(build_sampler, name, labels, batch_size=batch_size, **options)


@pytest.mark.parametrize(
    ("chain", "pixels", "said"),
    [
        (
            [{"name": "center_crop", "size": 300}],
            256,
            "0: center_crop: size is 300; allowed: up to",
        ),
        (
            [{"name": "resize", "size": 200}, {"name": "random_crop", "size": 224}],
            256,
            "1: random_crop: size is 224; allowed: up to 200",
        ),
        (
            [{"name": "random_resized_crop", "size": 64}, {"name": "center_crop", "size": 65}],
            None,
            "1: center_crop: size is 65; allowed: up to 64",
        ),
    ],
)
def test_a_crop_beyond_the_image_is_named(chain, pixels, said):
    with pytest.raises(UserError, match=f"^transforms.test.{said}"):
        check_transforms({"train": [], "test": chain}, pixels)


def test_chains_that_fit_pass():
    chain = [{"name": "resize", "size": 300}, {"name": "center_crop", "size": 300}]
    check_transforms({"train": [{"name": "random_horizontal_flip"}, *chain], "test": chain}, 256)
    check_transforms({"test": [{"name": "center_crop", "size": 300}]}, None)


@given(
    pixels=st.integers(8, 16),
    chain=st.lists(
        st.tuples(
            st.sampled_from(["center_crop", "random_crop", "resize", "random_resized_crop"]),
            st.integers(6, 20),
        ),
        max_size=3,
    ),
)
def test_it_refuses_what_the_transforms_refuse(pixels, chain):
    import torch

    images = torch.zeros(2, 3, pixels, pixels + 3)
    try:
        build_transforms([{name: {"size": size}} for name, size in chain])(images)
        refused = False
    except UserError:
        refused = True
    named = [{"name": name, "size": size} for name, size in chain]
    try:
        check_transforms({"train": named}, pixels)
        assert not refused
    except UserError:
        assert refused
