"""Where the parts that the authors' code has are planned: rows of the studies and their specs."""

import json
import re

from author_batches import RECORDED
from dmlbench.plan import Row

LOSSES = sorted(name for name in RECORDED if re.fullmatch(r"\w+/\w+", name))
LOSSES = [name for name in LOSSES if "value" in json.dumps(RECORDED[name])]
STUDIES = ("roth2020", "musgrave2020", "psomas2020")

WHERE = {
    "roth2020": ("resnet50", 128, "half", None),
    "psomas2020": ("bninception", 512, "half", None),
    "musgrave2020": ("bninception", 128, "half4fold", 0),
}
VARIANTS = {
    "roth2020/contrastive": "miner=D,code",
    "roth2020/triplet": "miner=D,code",
    "roth2020/snr": "miner=D,code",
    "roth2020/margin": "miner=D,code,beta=1.2",
} | {
    f"psomas2020/{name}": "code_losses"
    for name in (
        "contrastive",
        "triplet",
        "lifted_structure",
        "n_pair",
        "margin",
        "multi_similarity",
    )
}
"""The variant of the row whose spec has the code's part; `code` in roth2020 and musgrave2020."""
MINERS = {
    "roth2020/miner softhard": ("soft_hard", {"fallback": "any"}),
    "roth2020/miner semihard": ("semi_hard_random", {"margin": 0.2, "fallback": "any"}),
    "roth2020/miner distance": ("distance_weighted", {"upper_cutoff": 2, "positives": "one"}),
    "roth2020/miner npair": ("one_positive", {}),
    "psomas2020/miner distance": ("distance_weighted_of_batch", {}),
}
"""The miner with which each was recorded, and the options that make it so."""


def spec_of(loaded, entry):
    """The spec of a study's row with the code's part."""
    study, method = entry.split("/")
    network, size, split, fold = WHERE[study]
    recipe = study if study != "psomas2020" or "proxy_2" in method else "psomas2020_code"
    variant = VARIANTS.get(entry, "" if study == "psomas2020" else "code")
    return loaded.spec(Row(study, "cub200", network, size, method, recipe, variant, split, fold, 0))


def text_of(loaded, entry):
    """The spec of the same row without any variant of the code."""
    study, method = entry.split("/")
    network, size, split, fold = WHERE[study]
    variant = ",".join(p for p in VARIANTS.get(entry, "").split(",") if not p.startswith("code"))
    return loaded.spec(Row(study, "cub200", network, size, method, study, variant, split, fold, 0))


def rows_with(loaded, study, miner, options):
    """The study's rows whose miner has these options."""
    for row in loaded.rows(study):
        found = loaded.spec(row).miner
        if found and found.name == miner and options.items() <= found.hyperparameters.items():
            yield row
