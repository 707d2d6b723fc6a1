"""The input space of karaman2021's toy data, scored without any network."""

from typing import Annotated

from dmlbench.errors import UserError
from dmlbench.evaluation import evaluate
from dmlbench.experiments._gaussian import draw_classes
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.values import Count, Interval, Part, Positive

METHODS = ("input_space",)
METRICS = (
    "recall_at_1",
    "recall_at_2",
    "recall_at_4",
    "recall_at_8",
    "precision_at_2",
    "precision_at_4",
    "precision_at_8",
    "r_precision",
    "map_at_r",
)
"""The columns of table 4.1."""


class GaussianClasses(Part):
    """Nine metrics of one draw of Gaussian classes, by Euclidean distance.

    Class means are uniform in [0, 1]^3, the covariance is 0.02 I, each class has 200 points. The
    text has 32 classes; the printed scores are multiples of 1 / 2,400, the 12 classes that train
    (three quarters of half of them). Both are scored: the training classes without a variant, all
    classes as `classes=32`. The draw of the printed row is not given.

    Args:
        classes: in all.
        training_classes: the first of them, at most all.
        samples: points of each class.
        variance: > 0, of each coordinate.

    Source: karaman2021, section 4.1.2 and the first row of table 4.1.
    """

    classes: Count = 32
    training_classes: Annotated[int, Interval(ge=2)] = 12
    samples: Annotated[int, Interval(ge=2)] = 200
    variance: Positive = 0.02

    def __post_init__(self):
        if self.training_classes >= self.classes:
            raise UserError(
                f"training_classes={self.training_classes}; allowed: less than {self.classes}"
            )

    def run(self, seed: int) -> Outcome:
        points, labels = draw_classes(
            seed,
            classes=self.classes,
            samples=self.samples,
            dimension=3,
            variance=self.variance,
        )
        parts = []
        for classes, variant in (
            (self.training_classes, ""),
            (self.classes, f"classes={self.classes}"),
        ):
            some = labels < classes
            evaluation = evaluate(points[some], labels[some], metrics=METRICS, distance="euclidean")
            parts.append(rows(evaluation.scores, variant=variant))
        common = {"dataset": "toy", "embedding_dim": 3, "method": "input_space", "role": "train"}
        return joined(parts, {"points": points, "labels": labels}, **common)
