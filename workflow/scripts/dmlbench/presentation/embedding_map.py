"""The test set seen by the embedding: a 2-D map drawn with the images themselves."""

from collections.abc import Mapping

import numpy as np
from matplotlib import colors
from matplotlib.figure import Figure
from PIL import Image
from sklearn.manifold import TSNE

from dmlbench.presentation import style

_SIDE = 1500
"""Pixels of a panel's side."""

_SHARE = 1 / 23
"""A thumbnail's side as a share of the panel's."""

_FAINT = 0.25
"""Below this share of the strongest ink, a gray pixel is paper; as far below full, it is ink."""


def embedding_map(
    embeddings: Mapping[str, np.ndarray],
    labels: np.ndarray,
    images: np.ndarray,
    seed: int,
    *,
    title: str,
    classes: int,
    per_class: int = 20,
) -> Figure:
    """Map embeddings of the same images to the plane by t-SNE, one panel per embedding.

    Every image is drawn at its position, in its class's color (gray-level images) or framed by it
    (color images), so that a compact class shows as a patch of one color. All panels show the same
    images. Positions are t-SNE's (scikit-learn, PCA start, fixed seed): neighborhoods are
    meaningful, distances and axes are not.

    Args:
        embeddings: panel title -> embeddings [N, D], float, in the same order of images.
        labels: class of each image [N], integers or strings.
        images: [N, H, W] or [N, H, W, 3], uint8.
        seed: picks the classes and images and starts t-SNE.
        title: printed above the panels.
        classes, per_class: the most that are shown; classes with most images first.
    """
    labels, images = np.asarray(labels), np.asarray(images)
    chosen = _subset(labels, classes, per_class, np.random.default_rng(seed))
    names, members = np.unique(labels[chosen], return_inverse=True)
    palette = _hues(len(names))
    thumbnails = _thumbnails(images[chosen], palette[members])
    with style.house():
        figure = Figure(figsize=(5.2 * len(embeddings), 5.9))
        panels = np.atleast_1d(figure.subplots(1, len(embeddings)))
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.84, wspace=0.05)
        for axes, (panel, vectors) in zip(panels, embeddings.items(), strict=True):
            places = _places(np.asarray(vectors, dtype=np.float32)[chosen], seed)
            places = _apart(places, 0.85 * _SHARE)
            axes.imshow(_collage(places, thumbnails), interpolation="lanczos")
            axes.set_title(panel, fontsize=10.5)
            axes.set(xticks=[], yticks=[])
            axes.grid(False)
            axes.spines[:].set(visible=True, color=style.GRID)
        figure.text(0.01, 0.955, title, fontsize=12.5, fontweight="bold")
        figure.text(
            0.01,
            0.915,
            f"{len(chosen)} images of {len(names)} test classes, one color per class; "
            "t-SNE: neighbors count, axes do not.",
            color=style.SOFT,
            fontsize=8.5,
        )
    return figure


def _subset(labels, classes: int, per_class: int, generator) -> np.ndarray:
    names, counts = np.unique(labels, return_counts=True)
    order = generator.permutation(len(names))
    full = np.minimum(counts[order], per_class)
    kept = names[order[np.argsort(-full, kind="stable")][:classes]]
    picks = [np.flatnonzero(labels == kept_class) for kept_class in kept]
    picks = [generator.permutation(pick)[:per_class] for pick in picks]
    return np.sort(np.concatenate(picks))


def _places(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Positions [N, 2] in the unit square, the larger side filled."""
    if not np.ptp(vectors, axis=0).any():
        return np.full((len(vectors), 2), 0.5)
    perplexity = min(20.0, (len(vectors) - 1) / 3)
    tsne = TSNE(init="pca", perplexity=perplexity, random_state=seed, max_iter=1000)
    places = tsne.fit_transform(vectors)
    # The unit square holds all but the outermost hundredth, so that one outlier does not squeeze
    # the rest; outliers are placed at the border.
    low, high = np.quantile(places, [0.005, 0.995], axis=0)
    return np.clip((places - low) / np.maximum(high - low, 1e-9), 0, 1)


def _apart(places: np.ndarray, distance: float) -> np.ndarray:
    """Places pushed gently apart until hardly any two are nearer than `distance`.

    They fill the unit square before and after.
    """
    places = places.astype(np.float64)
    # A tiny spiral separates coinciding places, in the same way every time.
    turns = np.arange(len(places)) * 2.4
    places += 1e-4 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for _ in range(80):
        away = places[:, None] - places[None]
        gap = np.linalg.norm(away, axis=2)
        np.fill_diagonal(gap, np.inf)
        push = np.maximum(distance - gap, 0) / gap
        places += 0.3 * (push[..., None] * away).sum(axis=1)
    return (places - places.min(axis=0)) / np.maximum(np.ptp(places, axis=0), 1e-9)


def _thumbnails(images: np.ndarray, tints: np.ndarray) -> np.ndarray:
    """RGBA thumbnails [N, h, w, 4] in [0, 1]."""
    pixels = images.astype(np.float32) / 255
    if pixels.ndim == 4:
        return _framed(pixels, tints)
    border = np.concatenate([pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]], 1)
    paper = np.median(border, axis=1)[:, None, None]
    ink = np.abs(pixels - paper)
    ink /= np.maximum(ink.max(axis=(1, 2), keepdims=True), 1e-6)
    # Faint noise of the paper would tint the whole square.
    ink = np.clip((ink - _FAINT) / (1 - 2 * _FAINT), 0, 1)
    color = np.broadcast_to(tints[:, None, None, :], (*pixels.shape, 3))
    return np.concatenate([color, ink[..., None]], axis=-1)


def _framed(pixels: np.ndarray, tints: np.ndarray) -> np.ndarray:
    width = max(1, round(0.07 * pixels.shape[1]))
    framed = np.ones((*pixels.shape[:3], 4), dtype=np.float32)
    framed[..., :3] = tints[:, None, None, :]
    inner = np.s_[:, width:-width, width:-width, :3]
    framed[inner] = pixels[:, width:-width, width:-width]
    return framed


def _collage(places: np.ndarray, thumbnails: np.ndarray) -> np.ndarray:
    """All thumbnails pasted at their places on white, RGB [_SIDE, _SIDE, 3]."""
    height, width = thumbnails.shape[1:3]
    zoom = _SIDE * _SHARE / max(height, width)
    height, width = round(height * zoom), round(width * zoom)
    thumbnails = [_resized(thumbnail, (width, height)) for thumbnail in thumbnails]
    free = np.array([_SIDE - width, _SIDE - height])
    corners = np.round(places * free).astype(int)
    canvas = np.ones((_SIDE, _SIDE, 3), dtype=np.float32)
    for (x, y), thumbnail in zip(corners, thumbnails, strict=True):
        patch = canvas[y : y + height, x : x + width]
        alpha = thumbnail[..., 3:]
        patch[:] = alpha * thumbnail[..., :3] + (1 - alpha) * patch
    return canvas


def _resized(thumbnail: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    image = Image.fromarray(np.round(255 * thumbnail).astype(np.uint8), "RGBA")
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC), dtype=np.float32) / 255


def _hues(count: int) -> np.ndarray:
    """Colors [count, 3], hues evenly around the circle, neighbors distinguished by lightness."""
    hue = np.arange(count) / count
    full = colors.hsv_to_rgb(np.stack([hue, np.full(count, 0.9), np.full(count, 0.95)], axis=1))
    luminance = full**2.2 @ [0.2126, 0.7152, 0.0722]
    # Yellow and cyan would vanish on white paper: every hue is darkened to one of two levels.
    target = np.where(np.arange(count) % 2, 0.08, 0.28)
    return full * np.minimum(1, (target / luminance) ** (1 / 2.2))[:, None]
