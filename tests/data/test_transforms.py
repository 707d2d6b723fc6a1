"""Batched transforms against Pillow, torchvision and the geometry they promise."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from dmlbench import registry
from dmlbench.data.transforms import available, build_transforms
from dmlbench.errors import UserError
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import functional as F


def batch(count=6, channels=3, height=12, width=10, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (count, channels, height, width)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


EVERY = [
    {"resize": {"size": 11}},
    {"random_resized_crop": {"size": 10, "scale": [0.5, 1]}},
    {"random_crop": {"size": 9}},
    {"color_jitter": {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1}},
    {"random_affine": {"degrees": 10, "translate": 0.1, "scale": [0.8, 1.2]}},
    {"random_horizontal_flip": None},
    {"center_crop": {"size": 8}},
    {"to_float": None},
    {"normalize": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.2, 0.3]}},
]


def test_every_transform_is_tested_here():
    assert {name for step in EVERY for name in step} == set(available())


@pytest.mark.parametrize(
    "steps", [[], EVERY, EVERY[5:7], EVERY[8:], EVERY[:3], [*EVERY[3:], EVERY[0]]]
)
def test_a_chain_ends_in_float32_and_leaves_its_input_alone(steps):
    images = batch()
    before = images.clone()
    out = build_transforms(steps)(images, seeded())
    assert out.dtype == torch.float32
    assert len(out) == len(images)
    assert torch.equal(images, before)


def test_equal_seeds_give_equal_images_and_others_others():
    transform = build_transforms(EVERY)
    assert torch.equal(transform(batch(), seeded(1)), transform(batch(), seeded(1)))
    assert not torch.equal(transform(batch(), seeded(1)), transform(batch(), seeded(2)))
    torch.manual_seed(3)
    first = transform(batch(), None)
    torch.manual_seed(3)
    assert torch.equal(transform(batch()), first)


@pytest.mark.parametrize("step", EVERY, ids=lambda step: next(iter(step)))
def test_what_draws_from_the_generator_says_that_it_is_random(step):
    transform = build_transforms([step])
    (name,) = step
    draws = not torch.equal(transform(batch(), seeded(1)), transform(batch(), seeded(2)))
    assert draws == bool(registry.constant("data/transforms", name, "RANDOM"))


@pytest.mark.parametrize("threads", [2, 5, 9])
def test_any_number_of_threads_gives_the_same_images(threads):
    transform, before = build_transforms(EVERY), torch.get_num_threads()
    expected = transform(batch(), seeded())
    try:
        torch.set_num_threads(threads)
        assert torch.equal(transform(batch(), seeded()), expected)
        with ThreadPoolExecutor(1) as another:
            assert another.submit(torch.get_num_threads).result() == threads
    finally:
        torch.set_num_threads(before)


def test_nothing_but_to_float_is_torchvisions_to_float():
    expected = F.convert_image_dtype(batch(), torch.float32)
    torch.testing.assert_close(build_transforms([])(batch()), expected)


def test_normalize_is_torchvisions():
    mean, std = [0.4, 0.5, 0.6], [0.2, 0.25, 0.3]
    expected = F.normalize(batch() / 255, mean, std)
    out = build_transforms([{"normalize": {"mean": mean, "std": std}}])(batch())
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("size", range(1, 11))
def test_center_crop_is_torchvisions(size):
    out = build_transforms([{"center_crop": {"size": size}}])(batch())
    assert torch.equal(out, F.center_crop(batch(), [size, size]) / 255)


@pytest.mark.parametrize(("probability", "fraction"), [(0, 0.0), (1, 1.0), (0.5, 0.5)])
def test_horizontal_flips_come_as_often_as_asked(probability, fraction):
    images = batch(400, 1)
    flip = build_transforms([{"random_horizontal_flip": {"probability": probability}}])
    out = flip(images, seeded())
    flipped = (out == images.flip(-1) / 255).flatten(1).all(1)
    kept = (out == images / 255).flatten(1).all(1)
    assert (flipped ^ kept).all()
    assert flipped.float().mean() == pytest.approx(fraction, abs=0.1 if 0 < fraction < 1 else 0)


def test_an_affine_map_without_room_changes_nothing():
    out = build_transforms([{"random_affine": None}])(batch(), seeded())
    torch.testing.assert_close(out, batch() / 255, rtol=0, atol=1e-4)


@settings(deadline=None, max_examples=15)
@given(
    degrees=st.floats(0, 180),
    factor=st.floats(0.5, 2),
    translate=st.floats(0, 0.2),
    height=st.integers(16, 24),
    width=st.integers(16, 24),
    seed=st.integers(0, 99),
)
def test_an_affine_map_is_pillows_with_the_drawn_numbers(
    degrees, factor, translate, height, width, seed
):
    # Smooth images, in which a small difference in the resampling stays small.
    coarse = torch.rand(3, 1, 5, 5, generator=seeded(seed)) * 255
    images = F.resize(coarse, [height, width]).round().to(torch.uint8)
    step = {"degrees": degrees, "translate": translate, "scale": [factor, factor]}
    out = build_transforms([{"random_affine": step}])(images, seeded(seed)) * 255
    draws = seeded(seed)
    angles, _, shift_x, shift_y = (torch.rand(3, generator=draws) * 2 - 1 for _ in range(4))
    for number in range(3):
        angle = math.radians(degrees * angles[number].item())
        shift = np.array([shift_x[number] * width, shift_y[number] * height]) * translate
        turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        back = turn / factor
        center = np.array([width, height]) / 2
        offset = center - back @ (center + shift)
        matrix = (*back[0], offset[0], *back[1], offset[1])
        expected = Image.fromarray(images[number, 0].numpy()).transform(
            (width, height), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR
        )
        # Pillow fills pixels from outside with black; here the border is repeated.
        grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1) + 0.5
        source = grid @ back.T + offset
        inside = ((source > 1) & (source < np.array([width, height]) - 1)).all(-1)
        difference = np.abs(out[number, 0].numpy() - np.asarray(expected, dtype=float))
        assert difference[inside].max(initial=0) < 1.5


def test_an_affine_map_repeats_the_border():
    white = torch.full((4, 1, 9, 9), 255, dtype=torch.uint8)
    step = {"degrees": 90, "translate": 0.5, "scale": [0.3, 0.5]}
    out = build_transforms([{"random_affine": step}])(white, seeded())
    torch.testing.assert_close(out, torch.ones(4, 1, 9, 9))


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ({"random_affine": {"degrees": -1}}, "degrees is -1; allowed: greater than or equal to 0"),
        ({"random_affine": {"translate": 2}}, "translate is 2; allowed: less than or equal to 1"),
        (
            {"random_affine": {"scale": [2, 1]}},
            r"scale is \[2, 1\]; allowed: two numbers",
        ),
        ({"random_affine": {"degree": 1}}, "did you mean 'degrees'"),
        (
            {"random_horizontal_flip": {"probability": 1.5}},
            "probability is 1.5; allowed: .* to 1",
        ),
        ({"center_crop": {"size": 0}}, "size is 0; allowed: greater than or equal to 1"),
        ({"random_crop": {"size": 0}}, "size is 0; allowed: greater than or equal to 1"),
        ({"resize": {"size": 0}}, "size is 0; allowed: greater than or equal to 1"),
        ({"random_resized_crop": {"size": 0}}, "size is 0; allowed: greater than or equal to 1"),
        ({"random_resized_crop": {"size": 9, "scale": [0, 1]}}, r"scale is \[0, 1\]; allowed"),
        ({"random_resized_crop": {"size": 9, "ratio": [2, 1]}}, r"ratio is \[2, 1\]; allowed"),
        ({"color_jitter": {"contrast": -1}}, "contrast is -1; allowed: greater than or equal to 0"),
        ({"color_jitter": {"hue": 0.6}}, "hue is 0.6; allowed: less than or equal to 0.5"),
        ({"normalize": {"mean": [0.5], "std": [0]}}, r"std is \[0\]; allowed: greater than 0"),
        ({"normalize": {"mean": [], "std": []}}, r"mean is \[\]; allowed"),
        ({"center_crops": {"size": 4}}, "did you mean 'center_crop'"),
        ({"to_float": None, "center_crop": {"size": 4}}, "allowed: one name"),
        ("to_float", "allowed: one name"),
    ],
)
def test_bad_steps_say_what_is_allowed(step, named):
    with pytest.raises(UserError, match=named):
        build_transforms([step])


def test_images_that_do_not_fit_say_what_is_allowed():
    with pytest.raises(UserError, match="size is 11; allowed: up to 10"):
        build_transforms([{"center_crop": {"size": 11}}])(batch())
    with pytest.raises(UserError, match="images have 2 channels; allowed: 1, 3"):
        build_transforms([{"color_jitter": {"hue": 0.1}}])(batch(channels=2))
    with pytest.raises(UserError, match="mean has 2 numbers, the images 3 channels"):
        build_transforms([{"normalize": {"mean": [0, 0], "std": [1, 1]}}])(batch())
