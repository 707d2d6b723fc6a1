"""Disk space of a run: measured, or estimated if none has run."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import yaml
from dmlbench import plan
from dmlbench.plan.catalogs.where import Where

REPOSITORY = Path(__file__).resolve().parents[1]
MB = 10**6


def weigh_runs(folders: Sequence[Path]) -> list[dict]:
    """Mean sizes of the finished runs of results folders, by data set, network and dimensions."""
    found: dict[str, list[dict[str, float]]] = {}
    for folder in folders:
        for scores in sorted((folder / "runs").glob("*/*/d*/*/*/seed*/scores.parquet")):
            what = ", ".join(scores.relative_to(folder / "runs").parts[:3])
            sizes = {file.name: file.stat().st_size / MB for file in scores.parent.iterdir()}
            found.setdefault(what, []).append(sizes)
    return [
        {
            "what": what,
            "runs": len(runs),
            "weights_mb": _mean(runs, "model.safetensors", "last.safetensors"),
            "embeddings_mb": _mean(runs, "embeddings.parquet"),
            "all_mb": _mean(runs, *{name for sizes in runs for name in sizes}),
        }
        for what, runs in found.items()
    ]


def _mean(runs: list[dict[str, float]], *names: str) -> float:
    return statistics.fmean(sum(sizes.get(name, 0) for name in names) for sizes in runs)


def estimate_run(network: str, dimensions: int, images: dict[str, int]) -> list[dict]:
    """The same by computation: float32 weights and embeddings, of selected and last epoch each.

    Args:
        images: data set -> how many are embedded, which are all but the training ones.
    """
    from dmlbench.networks.embedder import Embedder

    configuration = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text())
    everything = plan.load(configuration, REPOSITORY / "config")
    where = Where(network=[network], embedding_dim=[dimensions])
    spec = everything.runs(where=where)[0].spec
    weights = sum(values.nbytes for values in Embedder(spec).state_dict().values()) / MB
    rows = []
    for dataset, count in images.items():
        sizes = {"weights_mb": 2 * weights, "embeddings_mb": 2 * count * dimensions * 4 / MB}
        what = f"{dataset}, {network}, d{dimensions}"
        rows.append({"what": what, "runs": None, **sizes, "all_mb": sum(sizes.values())})
    return rows
