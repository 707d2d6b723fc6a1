"""Tables of how published results were made, and of what benchmarks recorded."""

import json

import pandas as pd
from dmlbench.statistics.placement import read_placed
from dmlbench.statistics.variance import shares_of_summaries
from published_scores import PUBLISHED, REPOSITORY
from score_tables import markdown

BENCHMARKS = REPOSITORY / "results" / "benchmarks"
SOURCES = ("loss", "sampler", "loss and sampler together", "seed")
MADE = pd.read_csv(PUBLISHED / "made.csv", keep_default_na=False)
"""How each study was made, and the page of findings that says so."""


def made(page: str) -> str:
    """Call, commit, machine and time of the studies of a page."""
    rows = {
        f"[{row.study}](../../results/published/{row.study})": {
            "call": f"`{row.call}`",
            "made": "; ".join(each for each in row[4:] if each),
        }
        for row in MADE[MADE["page"] == page].itertuples()
    }
    return markdown(rows, "study").replace("---:", ":--")


def encodings() -> str:
    """How far the same birds in another encoding move scores, in points: least and most."""
    rows = {}
    for encoding, found in _record("encodings")["encodings"].items():
        if encoding != "ours":
            moved = pd.DataFrame(found["shifts"].values())
            rows[encoding] = {
                title: f"{moved[metric].min():+.1f} to {moved[metric].max():+.1f}"
                for title, metric in (("R@1", "recall_at_1"), ("MAP@R", "map_at_r"))
            }
    return markdown(rows, "stored again as")


def speed() -> str:
    """What dmlbench and what others need for the same work, as benchmarks recorded it."""
    training = _record("training-amd-epyc-avx512")
    evaluation = _record("evaluation-amd-epyc")["sop"]
    feed = next(
        each["systems"]
        for each in _record("input")["cases"]
        if each["case"] == "random resized crop, flip"
    )
    losses = _record("losses")["summary"]
    rows = {
        f"training on {data}, CPU seconds": _both(
            *(training[case]["real"]["runs"][each][0]["cpu_s"] for each in ("dmlbench", "script"))
        )
        for data, case in (("Omniglot", "omniglot"), ("Grocery Store", "grocery_96"))
    }
    for title, what, unit in (
        ("R@1, R-precision and MAP@R, seconds", "three", "wall_s"),
        ("the same, GB", "three", "peak_gb"),
        ("NMI, seconds", "nmi", "wall_s"),
    ):
        rows[title] = _both(
            *(evaluation[each][what][unit] for each in ("dmlbench", "pytorch-metric-learning"))
        )
    rows["random crops per second"] = _both(
        *(
            feed[each]["images_a_second"]
            for each in ("dmlbench, 2 threads", "torchvision, 2 workers")
        )
    )
    rows["a loss and its gradient, times as fast"] = {
        "dmlbench": f"{losses['geometric_mean_ratio']:.1f} (least {losses['smallest_ratio']:.2f})",
        "script or library": "1",
    }
    return markdown(rows, "what")


def profs_cost() -> str:
    """What alternating projections and class mining add to a training step."""
    rows = {
        f"{row['classes']:,} classes": {
            "PROFS, %": f"{row['profs_percent']:.2f}",
            "HNCM, %": f"{row['hncm_percent']:.3f}",
            "HNCM in print, %": f"{row['hncm_percent_printed']}",
            "weights, MiB": f"{row['profs_kept_mib']:.0f}",
            "embeddings, MiB": f"{row['hncm_kept_mib']:.1f}",
        }
        for row in _record("profs")["rows"]
    }
    return markdown(rows, "data")


def printed_shares() -> str:
    """Shares of the variance of R@1 in tables 7 to 9 of roth2020, by its printed deviations."""
    rows: dict[str, dict[str, str]] = {}
    for table, data in (("07", "CUB200-2011"), ("08", "Cars196"), ("09", "SOP")):
        cells = read_placed(
            [REPOSITORY / "config" / "reference" / "roth2020" / f"table_{table}.csv"]
        )
        cells = cells[cells["metric"] == "recall_at_1"]
        cells = cells.assign(value=cells["number"], std=cells["printed_std"])
        cells["sampler"] = cells["variant"].str.extract("sampler=(.*)")[0]
        for which, some in (
            ("all", cells),
            ("without SPC-R", cells[cells["sampler"] != "spc_r"]),
            (
                "without Histogram and Triplet",
                cells[~cells["method"].isin(["histogram", "triplet"])],
            ),
        ):
            found = shares_of_summaries(some, "method", "sampler", repetitions=5)
            shares = [f"{100 * source.share:.1f}" for source in found.values()]
            rows[f"{data}, {which}"] = dict(zip(SOURCES, shares, strict=True))
    return markdown(rows, "table")


def _both(ours: float, other: float) -> dict[str, str]:
    return {"dmlbench": _short(ours), "script or library": _short(other)}


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 20 else f"{number:.1f}"


def _record(name: str) -> dict:
    return json.loads((BENCHMARKS / f"{name}.json").read_text())
