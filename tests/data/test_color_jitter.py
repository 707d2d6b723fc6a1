"""Color jitter against torchvision, change by change and as a whole."""

import numpy as np
import pytest
import torch
from dmlbench.data.transforms import build_transforms, color_jitter
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.transforms import functional as F

CHANGES = {
    "brightness": (color_jitter.brighter, F.adjust_brightness),
    "contrast": (color_jitter.with_contrast, F.adjust_contrast),
    "saturation": (color_jitter.with_saturation, F.adjust_saturation),
    "hue": (color_jitter.with_hue, F.adjust_hue),
}
JITTER = {"brightness": 0.4, "contrast": 0.3, "saturation": 0.5, "hue": 0.2}


def images(count=6, channels=3, seed=0):
    """Bytes, among them grays, pure colors, black and white."""
    generator = torch.Generator().manual_seed(seed)
    shape = (count, channels, 9, 8)
    drawn = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    drawn[0, :, 0] = drawn[0, :1, 0]
    drawn[1, :, 0], drawn[1, :, 1] = 0, 255
    drawn[2, 1:] = 0
    return drawn


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(list(CHANGES)),
    factor=st.floats(0, 1, width=32),
    seed=st.integers(0, 99),
)
def test_each_change_is_torchvisions_on_floats(name, factor, seed):
    ours, theirs = CHANGES[name]
    factor = factor - 0.5 if name == "hue" else 2 * factor
    batch = images(seed=seed) / 255
    found = ours(batch, torch.full((len(batch), 1, 1, 1), factor))
    torch.testing.assert_close(found, theirs(batch, factor), rtol=0, atol=2e-6)


def torchvisions(image, draws, number, without=()):
    """torchvision's functions in the drawn order, with the drawn factors."""
    for change in draws[0, :, number].argsort():
        name = list(JITTER)[change]
        if name in without:
            continue
        low = -JITTER[name] if name == "hue" else 1 - JITTER[name]
        factor = low + 2 * JITTER[name] * draws[1, change, number]
        image = CHANGES[name][1](image, float(factor))
    return image


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_is_torchvisions_changes_in_each_images_own_order(channels):
    batch = images(60, channels)
    found = build_transforms([{"color_jitter": JITTER}])(batch, seeded())
    draws = torch.rand((2, 4, 60), generator=seeded(), dtype=torch.float64).numpy()
    orders = {tuple(draws[0, :, number].argsort()) for number in range(60)}
    assert len(orders) > 12
    for number, image in enumerate(batch):
        expected = torchvisions(image / 255, draws, number)
        torch.testing.assert_close(found[number], expected, rtol=0, atol=2e-5)


def test_jitter_is_torchvisions_on_bytes_within_its_roundings():
    batch = images(30)
    found = build_transforms([{"color_jitter": JITTER | {"hue": 0}}])(batch, seeded())
    draws = torch.rand((2, 4, 30), generator=seeded(), dtype=torch.float64).numpy()
    for number, image in enumerate(batch):
        expected = torchvisions(image, draws, number, without=["hue"]) / 255
        # Three changes, each truncated to a byte, after which the next may double the difference.
        assert (found[number] - expected).abs().max() < 7 / 255


def test_jitter_of_photographs_is_torchvisions(photographs):
    batch = torch.stack([F.center_crop(image, [128, 128]) for image in photographs])
    found = build_transforms([{"color_jitter": JITTER}])(batch, seeded())
    draws = torch.rand((2, 4, len(batch)), generator=seeded(), dtype=torch.float64).numpy()
    for number, image in enumerate(batch):
        expected = torchvisions(image / 255, draws, number)
        torch.testing.assert_close(found[number], expected, rtol=0, atol=2e-5)


def test_no_jitter_changes_nothing():
    found = build_transforms([{"color_jitter": None}])(images(), seeded())
    assert torch.equal(found, images() / 255)


def test_factors_are_the_same_wherever_images_are():
    drawn = build_transforms([{"color_jitter": {"brightness": 1.0}}])(
        torch.ones(500, 1, 1, 1), seeded()
    )
    factors = drawn.flatten().numpy()
    # Values above 1 are clipped.
    assert np.mean(factors == 1) == pytest.approx(0.5, abs=0.08)
    assert factors.min() < 0.02
