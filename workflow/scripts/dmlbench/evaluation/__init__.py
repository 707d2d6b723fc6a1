"""Metrics of an embedding space. Importing this loads neither torch nor NumPy.

`scoring` is the entry; `ranks` shows how exact ranks come about; `retrieval`, `clustering` and
`structure` hold the metrics, `run_scores`, `combined_scores` and `measures` the jobs of a workflow.
"""

import importlib

from dmlbench.evaluation.names import check_metric, metric_names

_HOMES = {
    "bootstrap": "uncertainty",
    "concatenate": "combination",
    "evaluate": "scoring",
    "score": "scoring",
    "score_separated": "combination",
    "t_interval": "uncertainty",
}

__all__ = [
    "bootstrap",
    "check_metric",
    "concatenate",
    "evaluate",
    "metric_names",
    "score",
    "score_separated",
    "t_interval",
]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
