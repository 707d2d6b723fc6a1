"""Three embedding spaces in the plane that R@1 does not distinguish."""

from typing import Annotated

import numpy as np

from dmlbench.evaluation import evaluate
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.values import Interval, Part, Positive

METHODS = ("interleaved", "adjacent", "separate")
METRICS = ("recall_at_1", "nmi", "ami", "f1", "r_precision", "map_at_r")


class ToySpaces(Part):
    """Two classes in three spaces, all near 100% R@1, scored by Euclidean distance.

    - `interleaved`: each class is four groups that alternate with those of the other class;
    - `adjacent`: each class is a band, the two close together;
    - `separate`: the same bands farther apart.

    All three are longer than wide, so that k-means (the best of ten starts) cuts each across both
    classes: NMI, AMI and F1 do not distinguish them either, as the text says, while R-precision and
    MAP@R do. The coordinates of the figure are not printed; these are ours.

    Args:
        samples: points of each class, at least 8.
        spread: > 0, standard deviation of a point around its group's or band's center.

    Source: musgrave2020, section 2.3 and figure 1.
    """

    samples: Annotated[int, Interval(ge=8)] = 200
    spread: Positive = 0.08

    def run(self, seed: int) -> Outcome:
        rng = np.random.default_rng(seed)
        spaces = {
            "interleaved": self._groups(rng),
            "adjacent": self._bands(rng, apart=1.5),
            "separate": self._bands(rng, apart=3.5),
        }
        labels = np.repeat([0, 1], self.samples)
        parts = []
        for name, points in spaces.items():
            options = {
                "metrics": METRICS,
                "distance": "euclidean",
                "seeds": (seed,),
                "restarts": 10,
            }
            parts.append(rows(evaluate(points, labels, **options).scores, method=name))
        arrays = {f"points_{name}": some for name, some in spaces.items()} | {"labels": labels}
        return joined(parts, arrays, dataset="toy_spaces", embedding_dim=2)

    def _groups(self, rng: np.random.Generator) -> np.ndarray:
        """Eight groups in a row: [2 * samples, 2], one class after the other."""
        group = np.arange(self.samples) % 4
        centers = np.concatenate([2 * group, 2 * group + 1])
        noise = rng.normal(scale=self.spread, size=(2 * self.samples, 2))
        return np.stack([centers, np.zeros(len(centers))], axis=1) + noise

    def _bands(self, rng: np.random.Generator, *, apart: float) -> np.ndarray:
        """Two parallel bands of length 8: [2 * samples, 2], one class after the other."""
        along = rng.uniform(0, 8, size=2 * self.samples)
        across = np.repeat([0, apart], self.samples)
        noise = rng.normal(scale=self.spread, size=2 * self.samples)
        return np.stack([along, across + noise], axis=1)
