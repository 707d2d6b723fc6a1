"""A CPU embeds a few large images at a time, with the same results."""

import numpy as np
import pytest
import torch
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.embedding import embed_images
from toy_training import VALUES


class Means(torch.nn.Module):
    """Each image's mean is its embedding; remembers how many images came at a time."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def forward(self, images):
        self.sizes.append(len(images))
        return images.mean((2, 3))


class Drawn:
    """Images [B, 1, side, side] whose pixels all are the image's number."""

    def __init__(self, side):
        self.side = side

    def batches(self, batches):
        for ids in batches:
            numbers = torch.from_numpy(ids).float().view(-1, 1, 1, 1)
            yield numbers.expand(-1, 1, self.side, self.side)


@pytest.mark.parametrize(
    ("side", "images", "sizes"),
    [
        (8, 300, [150, 150]),
        (64, 300, [150, 150]),
        (224, 50, [20, 20, 10]),
        (1500, 3, [1, 1, 1]),
    ],
)
def test_a_cpu_embeds_about_a_million_pixels_at_a_time(side, images, sizes):
    network = Means()
    ids = np.arange(images)
    embeddings = embed_images(Spec.model_validate(VALUES), network, Drawn(side), ids)
    assert network.sizes == sizes
    np.testing.assert_allclose(embeddings[:, 0], ids, rtol=1e-6)
