"""Add a model of timm or torchvision to config/networks.yaml, and its cost to config/costs.yaml.

python workflow/scripts/new_network.py timm/vit_small_patch14_dinov2.lvd142m [--name dinov2]
"""

import argparse
import re
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.networks.entry import as_text, entry_of
from dmlbench.networks.work import as_line, work_of
from dmlbench.plan.catalogues import Network
from dmlbench.plan.choices import IDENTIFIER
from dmlbench.plan.read import read_mapping
from dmlbench.program import errors_in_one_line, path_of_user

CONFIG = Path(__file__).resolve().parents[2] / "config"
NETWORKS, COSTS = CONFIG / "networks.yaml", CONFIG / "costs.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="timm/<name> or torchvision/<name>")
    parser.add_argument("--name", help="of the entry; default: the model's")
    parser.add_argument("--size", type=int, help="side of the images; default: the model's")
    parser.add_argument(
        "--weights", type=path_of_user, help="a file; default: the published weights"
    )
    given = parser.parse_args()
    name = given.name or re.sub(r"\W+", "_", given.model.partition("/")[2].lower())
    if not re.fullmatch(IDENTIFIER, name) or name in read_mapping(NETWORKS):
        raise UserError(f"NAME={name}; allowed: a new name of letters a to z, digits and _")
    values = entry_of(given.model, given.size, given.weights)
    network, text = Network.model_validate(values), as_text(name, values)
    # A recipe crops 7/8 of the packed pixels.
    work = work_of(network, 7 * network.pixels // 8)
    if name not in read_mapping(COSTS)["networks"]:
        COSTS.write_text(f"{COSTS.read_text().rstrip()}\n{as_line(name, work)}")
    NETWORKS.write_text(f"{NETWORKS.read_text().rstrip()}\n\n{text}")
    print(text, end="")
    print(f"written: config/networks.yaml; next: make study FOLDER=... NETWORK={name} FROZEN=1")


if __name__ == "__main__":
    with errors_in_one_line():
        main()
