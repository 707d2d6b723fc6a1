"""Do embeddings of drawings find the same thing by another hand, or another thing by the same hand?

    snakemake --cores all psomas2020_drawings
    python benchmarks/drawings.py                # a minute

A set draws a thing once, so the nearest drawing is the same thing by another set (content), another
thing by the same set (style), or neither. Test classes of all splits of the study, last epoch; by
chance: how often another thing is by the same set. Writes the table of docs/drawings.md, and the
picture on that page: drawings of test classes, and their five nearest before and after training.
"""

import argparse
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dmlbench.data.embeddings import Embedded, read_embeddings  # noqa: E402
from dmlbench.data.index import read_index  # noqa: E402
from dmlbench.data.pixels import Pixels  # noqa: E402
from dmlbench.evaluation.inputs import unit_rows  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan import paths  # noqa: E402
from dmlbench.plan.catalogs.read import read_mapping  # noqa: E402
from dmlbench.presentation._thumbnails import thumbnails  # noqa: E402
from PIL import Image, ImageDraw  # noqa: E402

STUDY, SELECTION = "psomas2020_drawings", "last_epoch"
PAGE = REPOSITORY / "docs" / "drawings.md"
PICTURE = REPOSITORY / "docs" / "drawings.webp"
RAW, AFTER, SPLIT = "raw_features", "contrastive", "half"
SEED, QUERIES, NEAREST = 0, 8, 5
SIDE, GAP, AIR, FRAME = 72, 16, 5, 3
RIGHT, WRONG = "#1b7837", "#c51b7d"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=REPOSITORY / "results")
    results = parser.parse_args().results
    (data,) = {path.parent for path in results.glob("data/drawings-*/images.parquet")}
    index = read_index(data / "images.parquet").set_index("image_id")
    runs = pd.read_csv(results / "studies" / STUDY / "runs.csv")
    shares = [
        shares_of(test_images(results, run), index) | {"method": method}
        for run, method in zip(runs["run"], runs["method"], strict=True)
    ]
    text = table(pd.DataFrame(shares).groupby("method").mean())
    print(text)
    write_marked(PAGE, "drawings", text)
    of_split = runs[runs["split"] == SPLIT].set_index("method")["run"]
    before, after = (test_images(results, of_split[method]) for method in (RAW, AFTER))
    pixels = Pixels(data / "pixels-160-rgb.npy", data / "pixels-160-rgb.parquet")
    draw(before, after, index, pixels, PICTURE)


def test_images(results: Path, run: str) -> Embedded:
    return read_embeddings(results / paths.made("embed", run=run))[SELECTION]["test"]


def shares_of(images: Embedded, index: pd.DataFrame) -> dict[str, float]:
    """Of the test images: whose nearest is the same thing, by the same set, and by neither."""
    nearest = ranked(images, 1)[:, 0]
    designer = index["designer"][images.image_ids].to_numpy()
    same_thing = images.labels == images.labels[nearest]
    same_hand = designer == designer[nearest]
    # No thing has two drawings of a set, so those of the set are all of other things.
    by_set, by_thing = pd.Series(designer), pd.Series(images.labels)
    own = by_set.groupby(by_set).transform("size") - 1
    others = len(designer) - by_thing.groupby(by_thing).transform("size")
    return {
        "same thing": same_thing.mean(),
        "another, same set": same_hand.mean(),
        "another, another set": (~same_thing & ~same_hand).mean(),
        "same set, of others": same_hand.sum() / (~same_thing).sum(),
        "by chance": (own / others).mean(),
    }


def ranked(images: Embedded, count: int) -> np.ndarray:
    """Rows of the nearest images of each, nearest first, without itself."""
    vectors = unit_rows(images.embeddings.astype(np.float64))
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :count]


def table(shares: pd.DataFrame) -> str:
    methods = read_mapping(REPOSITORY / "config" / "methods.yaml")
    shares = shares.sort_values("same thing", ascending=False)
    lines = [f"| | {' | '.join(shares.columns)} |", "|:--" + "|--:" * shares.shape[1] + "|"]
    lines += [
        f"| {methods[method]['title']} | {' | '.join(f'{100 * share:.1f}' for share in row)} |"
        for method, row in shares.iterrows()
    ]
    return "\n".join(lines)


def draw(
    before: Embedded, after: Embedded, index: pd.DataFrame, pixels: Pixels, output: Path
) -> None:
    """Queries drawn at random, a row each: itself, its nearest before, its nearest after."""
    chosen = np.random.default_rng(SEED).choice(before.image_ids, QUERIES, replace=False)
    left = [0, *(SIDE + GAP + SIDE * place for place in range(NEAREST))]
    left += [place + NEAREST * SIDE + GAP for place in left[1:]]
    canvas = Image.new("RGB", (left[-1] + SIDE, QUERIES * SIDE), "white")
    pencil = ImageDraw.Draw(canvas)
    found = [(images.image_ids, ranked(images, NEAREST)) for images in (before, after)]
    for row, query in enumerate(chosen):
        nearest = [ids[order[ids == query][0]] for ids, order in found]
        shown = index.loc[[query, *np.concatenate(nearest)]]
        print(" | ".join(shown["class_name"] + " by " + shown["designer"]))
        right = shown["class_name"] == shown["class_name"].iloc[0]
        pictures = thumbnails(pixels, shown.index.to_numpy())
        for place, (picture, x, is_right) in enumerate(zip(pictures, left, right, strict=True)):
            inner = Image.fromarray(picture).resize((SIDE - 2 * AIR, SIDE - 2 * AIR))
            canvas.paste(inner, (x + AIR, row * SIDE + AIR))
            box = (x + 1, row * SIDE + 1, x + SIDE - 2, (row + 1) * SIDE - 2)
            if place:
                pencil.rectangle(box, outline=RIGHT if is_right else WRONG, width=FRAME)
    canvas.save(output, "WEBP", quality=85, method=6)


if __name__ == "__main__":
    main()
