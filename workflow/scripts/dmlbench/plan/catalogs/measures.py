"""The schema of config/measures.yaml: scores of a run beyond its data set's metrics."""

from typing import Literal

from pydantic import Field

from dmlbench.plan.catalogs.choices import Metric, Model

Role = Literal["train", "validation", "test"]
Array = Literal["singular_values", "class_singular_values"]


class Measure(Model):
    """Metrics, and arrays, of one role's embeddings that a study asks for in addition.

    Attributes:
        role: whose embeddings are measured; those of training images are computed on request.
        metrics: kept as scores are.
        arrays: kept in a file next to them.
    """

    title: str
    role: Role = "test"
    metrics: list[Metric] = Field(min_length=1)
    arrays: list[Array] = []
