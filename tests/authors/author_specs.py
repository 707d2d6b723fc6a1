"""Where the parts that the authors' code has are planned: rows of the studies and their specs."""

import json
import re

from author_batches import RECORDED, RHO_SWITCH
from dmlbench.plan import Row

UNLIKE = {"roth2020/quadruplet"}
"""Losses of theirs that ours are not; a test of its own says how they differ."""
RHO = " with rho"
"""Ends the names of losses that were recorded with the tuples of rho-regularization."""
LOSSES = sorted(name for name in RECORDED if re.fullmatch(rf"\w+/\w+({RHO})?", name))
LOSSES = [name for name in LOSSES if "value" in json.dumps(RECORDED[name]) and name not in UNLIKE]
STUDIES = ("roth2020", "musgrave2020", "psomas2020")

WHERE = {
    "roth2020": ("resnet50", 128, "half", None),
    "psomas2020": ("bninception", 512, "half", None),
    "musgrave2020": ("bninception", 128, "half4fold", 0),
}
VARIANTS = (
    {
        "roth2020/contrastive": "miner=D,code",
        "roth2020/triplet": "miner=D,code",
        "roth2020/snr": "miner=D,code",
        "roth2020/margin": "miner=D,code,beta=1.2",
        "roth2020/margin with rho": "miner=D,code,beta=1.2,regularizer=rho_anchor",
    }
    | {
        f"roth2020/{name}{RHO}": "miner=D,code,regularizer=rho_anchor"
        for name in ("contrastive", "triplet", "snr")
    }
    | {
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
)
"""The variant of the row whose spec has the code's part; `code` in roth2020 and musgrave2020."""
MINERS = {
    "roth2020/miner softhard": ("soft_hard", {"fallback": "any"}),
    "roth2020/miner semihard": ("semi_hard_random", {"margin": 0.2, "fallback": "any"}),
    "roth2020/miner distance": ("distance_weighted", {"upper_cutoff": 2, "positives": "one"}),
    "roth2020/miner rho_distance": ("distance_weighted", {"upper_cutoff": 2, "positives": "one"}),
    "roth2020/miner random": ("random", {"of": "batch"}),
    "roth2020/miner npair": ("one_positive", {}),
    "psomas2020/miner distance": ("distance_weighted_of_batch", {}),
}
"""The miner with which each was recorded, and the options that make it so."""
SWITCHED = {"roth2020/miner rho_distance": {"name": "rho_anchor", "p_switch": RHO_SWITCH}}
"""The regularizer that changes what a miner drew."""


def spec_of(loaded, entry):
    """The spec of a study's row with the code's part."""
    study, method = entry.removesuffix(RHO).split("/")
    network, size, split, fold = WHERE[study]
    recipe = study if study != "psomas2020" or "proxy_2" in method else "psomas2020_code"
    variant = VARIANTS.get(entry, "" if study == "psomas2020" else "code")
    return loaded.spec(Row(study, "cub200", network, size, method, recipe, variant, split, fold, 0))


def text_of(loaded, entry):
    """The spec of the same row without any variant of the code."""
    study, method = entry.removesuffix(RHO).split("/")
    network, size, split, fold = WHERE[study]
    variant = ",".join(p for p in VARIANTS.get(entry, "").split(",") if not p.startswith("code"))
    return loaded.spec(Row(study, "cub200", network, size, method, study, variant, split, fold, 0))


def rows_with(loaded, entry):
    """The study's rows that draw as the entry's miner does."""
    return [
        row for row in loaded.rows(entry.partition("/")[0]) if draws_as(loaded.spec(row), entry)
    ]


def draws_as(spec, entry):
    """Whether a spec's miner has the entry's options, and its regularizer the entry's name."""
    miner, options = MINERS[entry]
    if not spec.miner or spec.miner.name not in (miner, f"{miner}_pairs"):
        return False
    switched = [part.name for part in spec.regularizers if part.name.startswith("rho")]
    wanted = [SWITCHED[entry]["name"]] if entry in SWITCHED else []
    return switched == wanted and options.items() <= spec.miner.hyperparameters.items()
