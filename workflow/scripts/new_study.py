"""Write a study of a folder of your own images into config/.

python workflow/scripts/new_study.py ~/pictures/birds [--name birds] [--network resnet18] [--frozen]
"""

import argparse
import re
from pathlib import Path

import yaml
from dmlbench import registry
from dmlbench.data.account import account
from dmlbench.data.archives import Archive
from dmlbench.data.index import described
from dmlbench.data.splits._classes import TEST
from dmlbench.errors import UserError
from dmlbench.image_folder import IMAGE_SUFFIXES, require_utf_8
from dmlbench.plan.catalogues import Network
from dmlbench.plan.new_study import Pictures, write_study
from dmlbench.program import errors_in_one_line, path_of_user

CONFIG = Path(__file__).resolve().parents[2] / "config"


def surveyed(
    folder: str, layout: str, options: dict[str, str] | None = None
) -> tuple[Pictures, dict[str, str]]:
    """What is in a folder of images, or in a zip or tar of it, and the account of it."""
    with Archive(path_of_user(folder)) as archive:
        rows = registry.build("data/layouts", layout, **(options or {}))([archive])
        rows, findings = described(rows, [archive])
    if rows.empty:
        raise UserError(
            f"{folder}: no image found with the layout {layout}; allowed: files that end in "
            f"{', '.join(IMAGE_SUFFIXES)}"
        )
    split = "half"
    if set(rows["subset"]) != {"all"}:
        # Queries and the gallery that they search are one role: they share their classes.
        roles = rows["subset"].replace(dict.fromkeys(TEST, "test"))
        shared = roles.groupby(rows["label"]).nunique().max() > 1
        split = "official_closed" if shared else "official"
    rows.insert(0, "image_id", range(len(rows)))
    roles = registry.build("data/splits", split)(rows)
    counts = roles.merge(rows, on="image_id").groupby(["role", "label"]).size()
    test = [role for role in ("test", "query", "gallery") if role in counts.index]
    tested = counts.loc[test].groupby("label").sum()
    trained = counts.loc["train"] if "train" in counts.index else []
    pictures = Pictures(folder, layout, split, list(trained), list(tested), options or {})
    return pictures, account(rows, roles, findings)


def pretrained() -> list[str]:
    """The networks whose weights are published at an address."""
    networks = yaml.safe_load((CONFIG / "networks.yaml").read_text())
    return [
        name
        for name, each in networks.items()
        if each.get("weights", {}).get("urls") and "frozen" not in each
    ]


def features_of(network: Network) -> int:
    """Numbers per image of a network's pooled features."""
    # Only here: torch takes seconds to load.
    from dmlbench.networks.embedder import Extractor

    return Extractor(network).width


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="of class folders, or a zip or tar of it")
    parser.add_argument("--name", help="of the study; default: that of the folder")
    parser.add_argument("--network", default="resnet18", help="an entry of config/networks.yaml")
    parser.add_argument("--layout", default="class_folders", help="how folders become classes")
    parser.add_argument("--list", help="CSV or Parquet in the folder that names the classes")
    parser.add_argument("--label", help="the list's column of classes; default: label")
    parser.add_argument("--box", help="the list's column of boxes: left, top, right, bottom")
    parser.add_argument("--group", help="the list's column of groups that a split keeps together")
    parser.add_argument("--frozen", action="store_true", help="only train heads on its features")
    given = parser.parse_args()
    require_utf_8(given.folder)
    layout, options = given.layout, {}
    if given.list:
        named = {"label": given.label, "box": given.box, "group": given.group}
        layout, options = "listed", {"file": given.list}
        options |= {option: column for option, column in named.items() if column}
    stem = path_of_user(given.folder).resolve().stem
    name = given.name or re.sub(r"\W+", "_", stem.lower())
    pictures, lines = surveyed(given.folder, layout, options)
    written = write_study(CONFIG, name, given.network, pictures, features_of, frozen=given.frozen)
    counts = [(sum(pictures.train), len(pictures.train)), (sum(pictures.test), len(pictures.test))]
    words = [f"{images:,} images of {classes} classes" for images, classes in counts]
    print(f"{given.folder}: {words[0]} train, {words[1]} test")
    for label, text in lines.items():
        print(f"  {label}: {text}")
    print("written:", *(path.relative_to(CONFIG.parent) for path in written))
    others = [network for network in pretrained() if network != given.network]
    print(f"other pretrained networks (NETWORK=...): {', '.join(others)}")
    print(f"before any training:     snakemake --cores all {name}_table_raw")
    print(f"what the rest will take: snakemake {name} -nq")
    print(f"trained and reported:    snakemake --cores all {name}")


if __name__ == "__main__":
    with errors_in_one_line():
        main()
