"""Write the tables of docs/findings/ and which_loss.md from published scores: `make findings`.

A table is between comments that name it. Its cells are means of test images in the last epoch,
unless its column says otherwise.
"""

import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "workflow" / "scripts")]

from dmlbench.marked_text import write_marked  # noqa: E402 (on the path only now)
from finding_tables import (  # noqa: E402
    FOUR,
    METRICS,
    MINED,
    between_machines,
    correlations,
    decay_correlations,
    decay_of_five_seeds,
    halves,
    luck,
    projections,
    rows_of,
    runs,
    samplers,
    shares,
    spectral_decay,
    swaps,
    tournament,
    triplet_losses,
    triplet_losses_of_ten_seeds,
    which_loss,
)
from order_tables import order_agreement, order_by_cells, order_means, order_shares  # noqa: E402
from published_scores import last_epoch  # noqa: E402
from record_tables import MADE, encodings, made, printed_shares, profs_cost, speed  # noqa: E402
from score_tables import MEAN, Column, published, spread, table  # noqa: E402
from size_tables import size_gains, size_orders, sizes  # noqa: E402

THREE = METRICS | {"R-precision": "r_precision"}
MARKER = re.compile(r"<!-- from_scores (\w+): begin -->")


def scores(study: str, variant: str = "", **of) -> dict[str, Column]:
    """Three metrics over seeds."""
    return {title: runs(study, metric, variant, **of) for title, metric in THREE.items()}


def over_contrastive(study: str, panels: Iterable[str]) -> dict[str, Column]:
    """Each loss less the contrastive one."""
    return {
        f"{panel} less Contrastive": published(study, "over_contrastive", panel=panel)
        for panel in panels
    }


def changed(study: str, name: str, titles: dict[str, tuple[str, str]]) -> dict[str, Column]:
    """Differences in a published table: by title, what is changed and the metric."""
    return {title: published(study, name, *of) for title, of in titles.items()}


def folds(metric: str, form: str) -> Column:
    """A metric of folds whose embeddings are concatenated, or scored separately."""
    return spread(last_epoch("musgrave2020_birds_folds", metric, fold=form))


def four_losses(name: str, of: Iterable[tuple[str, str, str]]) -> str:
    """What changes the same four losses: title, study of roth2020, change."""
    columns = {title: published(f"roth2020_{study}", name, change) for title, study, change in of}
    return table(columns, [*FOUR, MEAN])


def batches(size: int, *studies: str) -> list[tuple[str, str, str]]:
    """So many images per class: title, study, change."""
    return [
        (f"{study.partition('_')[0]}, SPC-{size}", study, f"tuned, batch sampler = SPC-{size}")
        for study in studies
    ]


RHO = "regularizer = rho, "
PROFS = {
    "PROFS less alone": ("PROFS", "R@1"),
    "PROFS-HNCM less alone": ("PROFS-HNCM", "R@1"),
}
SUBSETS = {"all seven": "shares", "the five": "shares_of_five", "the three": "shares_of_three"}
TABLES: dict[str, Callable[[], str]] = {
    "encodings": encodings,
    "order_shares": order_shares,
    "order_agreement": order_agreement,
    "order_by_cells": order_by_cells,
    "order_means": order_means,
    "which_heads": lambda: which_loss(
        {data: f"psomas2020_{data}" for data in ("birds", "cars")}, "psomas2020_birds"
    ),
    "which_trained": lambda: which_loss(
        {data: f"psomas2020_{data}_trained" for data in ("birds", "cars")},
        "psomas2020_cars_trained",
    ),
    "which_many": lambda: which_loss({"drawings": "psomas2020_drawings"}, "psomas2020_drawings"),
    "which_handwriting": lambda: which_loss({"handwriting": "omniglot_rates"}, "omniglot_rates"),
    "heads_birds": lambda: tournament("psomas2020_birds"),
    "heads_cars": lambda: tournament("psomas2020_cars"),
    "heads_drawings": lambda: halves("psomas2020_drawings"),
    "heads_extended": lambda: halves("psomas2020_birds_extended"),
    "swaps": swaps,
    "psomas2020_code": lambda: rows_of("psomas2020_birds_code", "code_less_text"),
    "roth2020_code": lambda: rows_of("roth2020_birds_code", "code_less_text"),
    "luck": luck,
    "trained_birds": lambda: tournament("psomas2020_birds_trained", trained=True),
    "trained_cars": lambda: tournament("psomas2020_cars_trained", trained=True),
    "trained_drawings": lambda: halves("psomas2020_drawings_trained"),
    "sizes_birds": lambda: sizes("birds"),
    "sizes_cars": lambda: sizes("cars"),
    "size_gains": size_gains,
    "size_orders": size_orders,
    "omniglot": lambda: table(
        scores("omniglot", selection="best_test_epoch") | over_contrastive("omniglot", THREE)
    ),
    "omniglot_cpus": lambda: table(
        {
            "AMD EPYC": runs("omniglot"),
            "Intel Xeon": runs("omniglot_intel_xeon"),
            "single trainings": between_machines(),
        }
    ),
    "omniglot_rates": lambda: table(
        scores("omniglot_rates", "tuned") | over_contrastive("omniglot_rates", ["R@1"])
    ),
    "grocery": lambda: table(scores("grocery") | over_contrastive("grocery", THREE)),
    "musgrave2020_birds": lambda: tournament("musgrave2020_birds", "MAP@R"),
    "musgrave2020_cars": lambda: tournament("musgrave2020_cars", "MAP@R"),
    "musgrave2020_drawings": lambda: halves("musgrave2020_drawings"),
    "musgrave2020_birds_folds": lambda: table(
        {
            "MAP@R, concatenated": folds("map_at_r", "concatenated"),
            "MAP@R, separated": folds("map_at_r", "separated"),
            "R@1, concatenated": folds("recall_at_1", "concatenated"),
        }
        | over_contrastive("musgrave2020_birds_folds", METRICS)
    ),
    "musgrave2020_omniglot": lambda: table(
        {
            "tuned": runs("musgrave2020_omniglot", variant="tuned", mean=True),
            "default values": runs("musgrave2020_omniglot", mean=True),
        }
        | changed("musgrave2020_omniglot", "gain", {"gain from tuning": ("tuned", "R@1")})
    ),
    "musgrave2020_grocery": lambda: table(
        {
            "tuned": runs("musgrave2020_grocery", variant="tuned", mean=True),
            "default values": runs("musgrave2020_grocery", mean=True),
        }
        | changed(
            "musgrave2020_grocery",
            "gain",
            {
                "gain from tuning": ("tuned", "R@1"),
                "gain in R-precision": ("tuned", "R-precision"),
            },
        )
    ),
    "can2019_birds": lambda: projections("birds"),
    "can2019_cars": lambda: projections("cars"),
    "can2019_drawings": lambda: projections("drawings"),
    "can2019_omniglot": lambda: table(
        {"alone": runs("can2019_omniglot", mean=True)}
        | changed("can2019_omniglot", "differences", PROFS)
    ),
    "can2019_grocery": lambda: table(
        {"alone": runs("can2019_grocery", mean=True)}
        | changed("can2019_grocery", "differences", PROFS)
        | changed(
            "can2019_grocery_rho",
            "differences",
            {"PROFS, rho = 6, less alone": ("PROFS, rho = 6", "R@1")},
        )
    ),
    "can2019_sweeps": lambda: rows_of(
        "can2019_omniglot_sweeps", "iterations_per_projection", "proximity", drop="Margin, "
    ),
    "karaman2021_birds": lambda: triplet_losses("birds"),
    "karaman2021_cars": lambda: triplet_losses("cars"),
    "karaman2021_drawings": lambda: triplet_losses("drawings"),
    "karaman2021_seeds": triplet_losses_of_ten_seeds,
    "karaman2021_omniglot": lambda: table(
        {
            "tuned, no miner": runs("karaman2021_omniglot", variant=MINED[0]),
            "tuned, miner": runs("karaman2021_omniglot", variant=MINED[1]),
            "printed setting, no miner": runs("karaman2021_omniglot", variant="without_miner"),
        }
        | changed(
            "karaman2021_omniglot",
            "tuned_gain",
            {"gain from the miner, tuned": ("with the miner, tuned", "R@1")},
        ),
        years=False,
    ),
    "karaman2021_grocery": lambda: table(
        {
            "no miner": runs("karaman2021_grocery", variant="without_miner", mean=True),
            "miner": runs("karaman2021_grocery", variant="with_miner", mean=True),
        }
        | changed(
            "karaman2021_grocery",
            "gain",
            {
                "gain": ("with the miner", "R@1"),
                "gain in R-precision": ("with the miner", "R-precision"),
            },
        ),
        years=False,
    ),
    "roth2020_birds": lambda: spectral_decay("roth2020_birds"),
    "roth2020_cars": lambda: spectral_decay("roth2020_cars"),
    "roth2020_drawings": lambda: spectral_decay("roth2020_drawings"),
    "roth2020_seeds": decay_of_five_seeds,
    "decay_correlations": decay_correlations,
    "correlations": correlations,
    "regularization": lambda: four_losses(
        "regularization",
        [
            ("birds", "birds", f"{RHO}tuned"),
            ("cars", "cars", f"{RHO}tuned"),
            ("drawings", "drawings", f"{RHO}tuned"),
            ("birds, five seeds", "birds_seeds", f"{RHO}tuned"),
            ("cars, five seeds", "cars_seeds", f"{RHO}tuned"),
        ],
    ),
    "regularization_small": lambda: four_losses(
        "regularization",
        [
            ("photographs, p = 0.1", "grocery", f"{RHO}p = 0.1"),
            ("photographs, p = 0.35", "grocery", f"{RHO}p = 0.35"),
            ("handwriting, p = 0.1", "omniglot", f"{RHO}p = 0.1"),
            ("handwriting, p = 0.35", "omniglot", f"{RHO}p = 0.35"),
        ],
    ),
    "batches": lambda: four_losses(
        "batches", [*batches(2, "birds", "cars", "drawings"), *batches(8, "birds", "cars")]
    ),
    "batches_seeds": lambda: four_losses(
        "batches",
        [*batches(2, "birds_seeds", "cars_seeds"), *batches(8, "birds_seeds", "cars_seeds")],
    ),
    "samplers": samplers,
    "omniglot_batches": lambda: table(
        {
            "SPC-2": runs("roth2020_omniglot_batches", variant="sampler=spc_2"),
            "SPC-4": runs("roth2020_omniglot_batches", variant="sampler=spc_4"),
            "SPC-8": runs("roth2020_omniglot_batches", variant="sampler=spc_8"),
            "DDM of fours": runs("roth2020_omniglot_batches", variant="sampler=ddm_4"),
            "FRD of fours": runs("roth2020_omniglot_batches", variant="sampler=frd_4"),
            "GC of fours": runs("roth2020_omniglot_batches", variant="sampler=gc_4"),
        }
    ),
    "grocery_batches": lambda: table(
        {
            "SPC-2": runs("roth2020_grocery_batches", variant="sampler=spc_2"),
            "SPC-4": runs("roth2020_grocery_batches", variant="sampler=spc_4"),
            "SPC-10": runs("roth2020_grocery_batches", variant="sampler=spc_10"),
            "random": runs("roth2020_grocery_batches", variant="sampler=spc_r"),
        }
    ),
    "omniglot_shares": lambda: shares(
        "roth2020_omniglot_batches",
        {"all seven losses": "shares", "Margin, MultiSimilarity, Triplet": "shares_of_three"},
    ),
    "grocery_shares": lambda: shares("roth2020_grocery_batches", SUBSETS),
    "grocery_shares_of_precision": lambda: shares(
        "roth2020_grocery_batches", SUBSETS, "r_precision"
    ),
    "memory": lambda: rows_of("cross_batch_memory", "over_small", drop="Contrastive, "),
    "profs_cost": profs_cost,
    "printed_shares": printed_shares,
    "speed": speed,
} | {f"made_{page}": partial(made, page) for page in MADE["page"].unique()}
"""Name between the comments -> its table."""


def marked() -> dict[str, Path]:
    """Name between comments -> the page that has it."""
    pages = sorted(DOCS.rglob("*.md"))
    return {name: page for page in pages for name in MARKER.findall(page.read_text())}


if __name__ == "__main__":
    for name, page in marked().items():
        write_marked(page, f"from_scores {name}", TABLES[name]())
