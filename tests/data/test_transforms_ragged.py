"""Crops and resizes of images of any sizes against torchvision, on noise and on photographs."""

import numpy as np
import pytest
import torch
from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms import _random, _resampling, build_transforms
from dmlbench.data.transforms.random_resized_crop import RandomResizedCrop
from dmlbench.errors import UserError
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstest
from torchvision.transforms import RandomResizedCrop as TorchvisionCrop
from torchvision.transforms import functional as F

LEVEL = 1 / 255
SIZES = [(40, 61), (61, 40), (33, 33), (90, 35), (47, 100), (32, 32)]


def ragged(images):
    """Images uint8 [C, H, W] as a ragged batch."""
    sizes = np.array([image.shape[1:] for image in images])
    flat = torch.cat([image.permute(1, 2, 0).reshape(-1) for image in images])
    lengths = sizes.prod(axis=1) * len(images[0])
    return Ragged.packed(flat, np.cumsum(lengths) - lengths, sizes, len(images[0]))


def noise(sizes=SIZES, channels=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randint(0, 256, (channels, *size), generator=generator, dtype=torch.uint8)
        for size in sizes
    ]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


RESIZERS = [_resampling.resized_one_by_one, _resampling.resized_by_products]


@pytest.mark.parametrize("resizer", RESIZERS)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_resized_noise_is_torchvisions_and_pillows_to_one_level(resizer, channels, threads):
    images = noise(channels=channels)
    sizes = np.random.default_rng(0).integers(5, 120, (len(images), 2))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        out = resizer(ragged(images), sizes)
    finally:
        torch.set_num_threads(before)
    for image, found, size in zip(images, out, sizes.tolist(), strict=True):
        assert found.dtype == torch.uint8
        exact = F.resize(image.double(), size, antialias=True)
        pillow = F.pil_to_tensor(F.resize(F.to_pil_image(image), size))
        # Pillow and torch's kernel round twice, to bytes between the two directions.
        assert (found - exact).abs().max() <= 1.01
        assert (found.int() - F.resize(image, size, antialias=True).int()).abs().max() <= 1
        assert (found.int() - pillow.int()).abs().max() <= 1


@pytest.mark.parametrize("resizer", RESIZERS)
def test_resized_photographs_are_torchvisions_and_pillows_to_one_level(resizer, photographs):
    sizes = np.random.default_rng(0).integers(64, 300, (len(photographs), 2))
    off = 0
    for image, found, size in zip(
        photographs, resizer(ragged(photographs), sizes), sizes.tolist(), strict=True
    ):
        pillow = F.pil_to_tensor(F.resize(F.to_pil_image(image), size))
        for expected in (F.resize(image, size, antialias=True), pillow):
            difference = (found.int() - expected.int()).abs()
            assert difference.max() <= 1
            off += (difference > 0).float().mean().item() / (2 * len(photographs))
    assert off < 0.2


@pytest.mark.parametrize("resizer", RESIZERS)
def test_resized_floats_are_torchvisions(resizer):
    images = [image / 255 for image in noise()]
    sizes = np.random.default_rng(1).integers(5, 120, (len(images), 2))
    for image, found, size in zip(
        images, resizer(ragged(images), sizes), sizes.tolist(), strict=True
    ):
        expected = F.resize(image, size, antialias=True)
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-5)


def test_products_in_several_parts_are_the_same(monkeypatch):
    images, sizes = ragged(noise()), np.array(SIZES)[::-1].copy()
    whole = list(_resampling.resized_by_products(images, sizes))
    monkeypatch.setattr(_resampling, "_VALUES_AT_ONCE", 2 * 3 * 90 * 100)
    parts = list(_resampling.resized_by_products(images, sizes))
    assert all(torch.equal(one, other) for one, other in zip(whole, parts, strict=True))


@settings(deadline=None, max_examples=25)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
def test_windows_are_slices_however_they_are_gathered(sizes, seed):
    images, generator = noise(sizes, seed=seed), np.random.default_rng(seed)
    corners = generator.integers(0, np.array(sizes))
    extents = generator.integers(1, np.array(sizes) - corners + 1)
    windows = ragged(images).windows(np.concatenate([corners, extents], axis=1))
    padded, gathered = windows.padded(), windows.gathered()
    for number, (top, left, height, width) in enumerate(
        np.concatenate([corners, extents], axis=1).tolist()
    ):
        expected = images[number][:, top : top + height, left : left + width]
        for found in (padded, gathered):
            assert torch.equal(found[number, :, :height, :width], expected)
        assert torch.equal(list(windows)[number], expected)


@pytest.mark.parametrize("size", [8, 32, 50, 64])
def test_resize_is_torchvisions(size):
    images = noise()
    resize = build_transforms([{"resize": {"size": size}}, {"center_crop": {"size": size}}])
    for image, found in zip(images, resize(ragged(images)), strict=True):
        expected = F.center_crop(F.resize(image, size, antialias=True), [size, size])
        assert (found - expected / 255).abs().max() <= 1.01 * LEVEL


@pytest.mark.parametrize("size", [1, 7, 31, 32])
def test_center_crop_of_several_sizes_is_torchvisions(size):
    images = noise()
    out = build_transforms([{"center_crop": {"size": size}}])(ragged(images))
    assert torch.equal(out, torch.stack([F.center_crop(i, [size, size]) for i in images]) / 255)


def test_random_crops_are_slices_and_every_place_is_equally_likely():
    # The pixels say where they are.
    rows = torch.arange(9, dtype=torch.uint8)[:, None].expand(9, 7)
    columns = torch.arange(7, dtype=torch.uint8)[None, :].expand(9, 7)
    images = ragged([torch.stack([rows, columns])] * 3_000)
    out = build_transforms([{"random_crop": {"size": 5}}])(images, seeded()) * 255
    corners = out[:, :, 0, 0].round().int()
    assert torch.equal((out[:, 0] - out[:, 0, :1]).round().int()[0, :, 0], torch.arange(5).int())
    counts = np.bincount((corners[:, 0] * 3 + corners[:, 1]).numpy(), minlength=15)
    assert len(counts) == 15
    # Chi-square with 14 degrees of freedom: 36.1 is its 99.9th percentile.
    assert ((counts - 200) ** 2 / 200).sum() < 36.1


class Given:
    """Replaces the random numbers of a crop by those that torchvision drew."""

    def __init__(self, *arrays):
        self.arrays = list(arrays)

    def __call__(self, *shape, generator):
        return self.arrays.pop(0)


@pytest.mark.parametrize(
    ("scale", "ratio"),
    [
        ((0.08, 1), (3 / 4, 4 / 3)),
        ((0.16, 1), (0.75, 1.33)),
        ((0.9, 1), (2, 3)),
        ((1, 1), (0.2, 0.3)),
    ],
)
def test_boxes_are_those_of_torchvision_for_the_same_draws(monkeypatch, scale, ratio):
    """torchvision draws one image after another; its draws, in our order, give its boxes."""
    sizes = np.random.default_rng(0).integers(20, 300, (60, 2))
    areas, ratios = np.full((2, 10, len(sizes)), 0.5)
    corners, expected = np.zeros((len(sizes), 2)), []
    for number, (height, width) in enumerate(sizes.tolist()):
        torch.manual_seed(number)
        expected.append(TorchvisionCrop.get_params(torch.empty(3, height, width), scale, ratio))
        torch.manual_seed(number)
        for attempt in range(10):
            areas[attempt, number] = torch.empty(1).uniform_(0, 1).item()
            ratios[attempt, number] = torch.empty(1).uniform_(0, 1).item()
            box = RandomResizedCrop(size=9, scale=scale, ratio=ratio)._box_sizes(
                sizes[[number]], areas[[attempt]][:, [number]], ratios[[attempt]][:, [number]]
            )[0, 0]
            if (box <= sizes[number]).all():
                free = (sizes[number] - box + 1).tolist()
                drawn = [torch.randint(0, places, (1,)).item() for places in free]
                corners[number] = (np.array(drawn) + 0.5) / free
                break
    draws = Given(np.stack([areas, ratios]), corners)
    monkeypatch.setattr("dmlbench.data.transforms.random_resized_crop.fractions", draws)
    boxes = RandomResizedCrop(size=9, scale=scale, ratio=ratio).boxes(sizes, None)
    assert np.array_equal(boxes, expected)


def test_boxes_are_distributed_as_torchvisions():
    height, width, count = 200, 120, 4_000
    ours = RandomResizedCrop(size=9).boxes(np.tile([height, width], (count, 1)), seeded())
    torch.manual_seed(0)
    image = torch.empty(3, height, width)
    theirs = np.array(
        [TorchvisionCrop.get_params(image, (0.08, 1), (3 / 4, 4 / 3)) for _ in range(count)]
    )
    for column in range(4):
        assert ks_2samp(ours[:, column], theirs[:, column]).pvalue > 0.001
    assert ((ours[:, :2] + ours[:, 2:]) <= [height, width]).all()


def test_fractions_are_uniform_and_the_same_wherever_images_are():
    drawn = _random.fractions(20_000, generator=seeded())
    assert kstest(drawn, "uniform").pvalue > 0.001
    assert np.array_equal(drawn, _random.fractions(20_000, generator=seeded()))


def test_random_resized_crop_is_torchvisions_crop_of_its_boxes(photographs):
    for images in (noise(), photographs):
        crop = RandomResizedCrop(size=64, scale=(0.16, 1), ratio=(0.75, 1.33))
        batch = ragged(images)
        out = crop(batch, seeded())
        boxes = crop.boxes(batch.sizes, seeded())
        for image, found, box in zip(images, out, boxes.tolist(), strict=True):
            expected = F.resized_crop(image, *box, [64, 64], antialias=True)
            pillow = F.pil_to_tensor(F.resized_crop(F.to_pil_image(image), *box, [64, 64]))
            assert (found.int() - expected.int()).abs().max() <= 1
            assert (found.int() - pillow.int()).abs().max() <= 1


RECIPES = [
    [{"resize": {"size": 48}}, {"center_crop": {"size": 44}}],
    [{"random_resized_crop": {"size": 44}}, {"random_horizontal_flip": None}],
    [{"resize": {"size": 48}}, {"random_crop": {"size": 44}}, {"random_horizontal_flip": None}],
]


@pytest.mark.parametrize("steps", RECIPES)
@pytest.mark.parametrize("channels", [1, 3])
def test_recipes_take_images_of_several_sizes_and_of_one(steps, channels):
    transform = build_transforms(steps)
    images = noise(channels=channels)
    out = transform(ragged(images), seeded(1))
    assert out.shape == (len(images), channels, 44, 44)
    assert out.dtype == torch.float32
    assert torch.equal(out, transform(ragged(images), seeded(1)))
    alike = noise([(60, 51)] * 4, channels)
    assert torch.equal(
        transform(torch.stack(alike), seeded(2)), transform(ragged(alike), seeded(2))
    )


@pytest.mark.parametrize("steps", RECIPES)
def test_recipes_agree_to_one_level_by_kernel_and_by_products(steps, monkeypatch):
    batch, transform = ragged(noise()), build_transforms(steps)
    first = transform(batch, seeded(1))
    for module in ("resize", "random_resized_crop"):
        monkeypatch.setattr(
            f"dmlbench.data.transforms.{module}.resized", _resampling.resized_by_products
        )
    assert (transform(batch, seeded(1)) - first).abs().max() <= 1.01 * LEVEL


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("steps", RECIPES)
def test_recipes_agree_to_one_level_on_a_gpu(steps):
    batch, transform = ragged(noise()), build_transforms(steps)
    found = transform(batch.to(torch.device("cuda")), seeded(1))
    assert found.device.type == "cuda"
    assert (found.cpu() - transform(batch, seeded(1))).abs().max() <= 1.01 * LEVEL


def test_transforms_work_without_gradients_too():
    transform = build_transforms(RECIPES[0])
    with torch.inference_mode():
        inside = transform(ragged(noise()))
    assert torch.equal(inside, transform(ragged(noise())))


@pytest.mark.parametrize(
    "steps", [[], [{"random_horizontal_flip": None}], [{"resize": {"size": 9}}]]
)
def test_several_sizes_without_a_crop_say_what_to_do(steps):
    with pytest.raises(UserError, match=r"needs images of one size, .* list center_crop"):
        build_transforms(steps)(ragged(noise()))


def test_images_smaller_than_a_crop_say_what_is_allowed():
    for name in ("center_crop", "random_crop"):
        with pytest.raises(UserError, match=f"{name}: size is 33; allowed: up to 32"):
            build_transforms([{name: {"size": 33}}])(ragged(noise()))
