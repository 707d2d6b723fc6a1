"""The map of the embedding: panels, images, and the same picture every time."""

from functools import partial

import numpy as np
import pytest
from dmlbench.presentation import style
from dmlbench.presentation.embedding_map import _apart, _hues, _thumbnails, embedding_map

drawn = partial(embedding_map, title="Test classes", classes=16)


@pytest.fixture
def clusters():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 8)
    centers = 10 * np.eye(4, 6)
    vectors = centers[labels] + generator.normal(size=(32, 6))
    images = generator.integers(0, 256, size=(32, 12, 12)).astype(np.uint8)
    return vectors.astype(np.float32), labels, images


def test_one_panel_an_embedding_with_its_title(clusters):
    vectors, labels, images = clusters
    figure = drawn({"before": vectors * 0 + images[:, 0, :6], "after": vectors}, labels, images, 0)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    assert all(axes.images for axes in figure.axes)


@pytest.mark.parametrize("channels", [None, 3])
def test_the_same_seed_gives_the_same_bytes(clusters, channels, tmp_path):
    vectors, labels, images = clusters
    if channels:
        images = np.repeat(images[..., None], channels, axis=-1)
    for attempt in ("one", "two"):
        figure = drawn({"after": vectors}, labels, images, 3, classes=3, per_class=5)
        style.save(figure, svg=tmp_path / f"{attempt}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_limits_on_classes_and_images_hold(clusters):
    vectors, labels, images = clusters
    figure = drawn({"after": vectors}, labels, images, 0, classes=3, per_class=5)
    assert any("15 images of 3 test classes" in text.get_text() for text in figure.texts)


def test_a_collapsed_embedding_and_two_images_draw(clusters):
    vectors, labels, images = clusters
    drawn({"collapsed": np.ones_like(vectors)}, labels, images, 0)
    drawn({"tiny": vectors[:3]}, labels[:3], images[:3], 0)


def test_ink_is_tinted_whatever_the_paper():
    dark = np.zeros((1, 5, 5), dtype=np.uint8)
    dark[0, 2, 2] = 255
    tints = np.array([[1.0, 0.5, 0.0]])
    for images in (dark, 255 - dark):
        thumbnail = _thumbnails(images, tints)[0]
        assert thumbnail[2, 2].tolist() == [1.0, 0.5, 0.0, 1.0]
        assert thumbnail[0, 0, 3] == 0
        assert thumbnail[..., 3].sum() == 1


def test_color_images_keep_their_pixels_inside_a_frame():
    images = np.full((1, 10, 10, 3), 51, dtype=np.uint8)
    thumbnail = _thumbnails(images, np.array([[1.0, 0.0, 0.0]]))[0]
    assert thumbnail[0, 0].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert thumbnail[5, 5].tolist() == pytest.approx([0.2, 0.2, 0.2, 1.0])


def test_coinciding_images_are_pushed_apart():
    places = _apart(np.full((9, 2), 0.5), 0.1)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(9, 1)]
    assert gaps.min() > 0.1
    assert places.min() == 0
    assert places.max() == 1


def test_no_class_color_is_too_pale_for_white_paper():
    luminance = _hues(16) ** 2.2 @ [0.2126, 0.7152, 0.0722]
    assert luminance.max() < 0.3
    assert len(np.unique(_hues(16), axis=0)) == 16
