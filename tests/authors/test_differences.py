"""Each difference from the authors' code is corrected, a variant, or named with its size."""

import ast
import functools
import itertools
import math
from pathlib import Path

import pytest
import torch
import yaml
from author_batches import RECORDED, fixed_batches
from author_specs import LOSSES, MINERS, RHO, SWITCHED, draws_as, spec_of
from dmlbench.losses import build_loss
from dmlbench.networks.embedder import _head
from dmlbench.plan.catalogs.places import place_value
from dmlbench.plan.catalogs.where import Where
from project import REPOSITORY, every_study
from published_scores import by_seed
from test_authors import GIVEN, along_the_sphere

DIFFERENCES = yaml.safe_load((Path(__file__).parent / "differences.yaml").read_text())
EACH = [(study, what) for study, found in DIFFERENCES.items() for what in found]
READ = {
    ("roth2020", "printed columns at their own best epochs"),
    ("musgrave2020", "embedding layer"),
    ("musgrave2020", "GoogLeNet"),
    ("musgrave2020", "SoftTriple on SOP"),
    ("musgrave2020", "crops of BNInception"),
    ("musgrave2020", "best values"),
    ("karaman2021", "pairs that merge"),
    ("can2019", "images scaled to a square"),
}
"""What no run of the authors' code and no test holds; a new one is recorded."""


@functools.cache
def planned(study, what):
    """The specs of a difference's rows, by answer; those of one seed, for seeds change no part."""
    loaded, difference = every_study(), DIFFERENCES[study][what]
    return {
        answer: [
            loaded.spec(row)
            for row in loaded.rows(study, Where(**difference[answer]["rows"]))
            if row.seed == 0
        ]
        for answer in {"corrected", "variant"} & difference.keys()
    }


@pytest.mark.parametrize(("study", "what"), EACH)
def test_the_protocol_page_names_it(study, what):
    text = (REPOSITORY / "docs" / f"{study}.md").read_text()
    assert DIFFERENCES[study][what]["says"] in " ".join(text.split())


@pytest.mark.parametrize(("study", "what"), EACH)
def test_what_is_corrected_or_a_variant_is_planned(study, what):
    difference = DIFFERENCES[study][what]
    for answer, specs in planned(study, what).items():
        wanted = difference[answer]["values"]
        assert specs
        for spec in specs:
            values = spec.as_dict()
            assert {place: place_value(values, place) for place in wanted} == wanted


@pytest.mark.parametrize(("study", "what"), EACH)
def test_it_is_recorded_or_tested_unless_it_was_only_read(study, what):
    proofs = {"recorded", "tested", "read"} & DIFFERENCES[study][what].keys()
    assert len(proofs) == 1
    assert (proofs == {"read"}) == ((study, what) in READ)


RECORDINGS = [
    (study, what, entry)
    for study, what in EACH
    for entry in DIFFERENCES[study][what].get("recorded", [])
]


@pytest.mark.parametrize(("study", "what", "entry"), RECORDINGS)
def test_what_is_planned_is_what_was_held_to_the_recording(study, what, entry):
    """A loss with the same values, a miner and regularizer that draw the same tuples."""
    assert entry in RECORDED
    for spec in itertools.chain(*planned(study, what).values()):
        if entry in MINERS:
            assert draws_as(spec, entry)
            for part in spec.regularizers:
                assert part.name == SWITCHED[entry]["name"]
        elif entry in LOSSES:
            held = spec_of(every_study(), entry)
            if held.loss.name == spec.loss.name:
                assert as_held(spec, entry) == as_held(held, entry)
    if entry in LOSSES:
        names = {spec.loss.name for each in planned(study, what).values() for spec in each}
        assert not names or spec_of(every_study(), entry).loss.name in names


def as_held(spec, entry):
    """The options of a loss but those with which it was recorded at other values."""
    return {
        name: value
        for name, value in spec.loss.hyperparameters.items()
        if name not in GIVEN.get(entry, {})
    }


TESTED = [
    each["tested"] for found in DIFFERENCES.values() for each in found.values() if "tested" in each
]


@pytest.mark.parametrize("test", TESTED)
def test_a_test_that_is_named_exists(test):
    file, _, name = test.partition("::")
    tree = ast.parse((REPOSITORY / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_measured_difference_is_here(shared):
    """The list of what was measured has a row for each, in tables by study."""
    sections = (shared / "studies" / "code.md").read_text().split("\n## ")
    for section in sections[1:]:
        study = section.split()[0].rstrip(",")
        rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
        if rows:
            here = [each for each in DIFFERENCES[study].values() if "later" not in each]
            assert len(here) == len(rows), study


# What the code does, where a recording of its own says it.


def test_the_code_draws_crops_as_planned():
    crops = RECORDED["roth2020/crops"]
    loaded = every_study()
    rows = loaded.rows("roth2020", Where(dataset="cub200", variant=["base", "code"]))
    for row in rows:
        for step in loaded.spec(row).transforms.train:
            if step.name == "random_resized_crop":
                assert step.hyperparameters["scale"] == crops["scale"]
                assert step.hyperparameters["ratio"] == pytest.approx(crops["ratio"])


def test_the_code_s_soft_triple_stops_with_an_error():
    assert RECORDED["roth2020/soft_triple"]["raises"].startswith("AttributeError")


def test_the_code_s_quadruplet_compares_all_pairs_of_triplets():
    """Its negatives are a column, its fourth images a row: the hinge is of every combination."""
    for name, theirs in RECORDED["roth2020/quadruplet"]["batches"].items():
        x, triplets = fixed_batches()[name].x, torch.tensor(theirs["tuples"])
        near, far = ((x[triplets[:, 0]] - x[triplets[:, k]]).norm(dim=1) for k in (1, 2))
        first = (near - far + 0.2).relu().mean()
        # Which fourth images were drawn is not recorded, but each is that of all triplets at once.
        each = (near[:, None] - torch.cdist(x[triplets[:, 2]], x) + 0.2).relu().mean(0)
        assert each.min() <= theirs["value"] - first.item() <= each.max(), name


def test_the_code_s_runs_have_the_planned_switches_and_normalization(loaded):
    runs = RECORDED["roth2020/runs"]["runs"]
    theirs = {"n_pair": "Npair", "angular": "Angular", "generalized_lifted": "GenLifted"}
    theirs |= {"proxy_nca": "ProxyNCA", "histogram": "Histogram", "arcface": "ArcFace"}
    for method, name in theirs.items():
        spec = spec_of(loaded, f"roth2020/{method}")
        assert spec.normalize == runs[f"CUB_{name}"]["normalize"], method
        assert (spec.evaluation_distance == "cosine") == spec.normalize, method
    theirs = {"contrastive": "Contrastive", "triplet": "Triplet_Distance", "snr": "SNR_Distance"}
    for method, name in (theirs | {"margin": "Margin_b12_Distance"}).items():
        (rho,) = spec_of(loaded, f"roth2020/{method}{RHO}").regularizers
        assert rho.hyperparameters["p_switch"] == runs[f"CUBreg_{name}"]["p_switch"], method


def test_the_code_s_batches_are_random_by_default():
    assert RECORDED["psomas2020/batches"]["images_per_class"] == 0


# What no code says, but our own numbers.


@pytest.mark.parametrize(
    ("method", "margins", "options"),
    [
        ("moving", (5, 10, 20, 40), {"rho": 0.3}),
        ("ranking", (2.5, 40), {}),
        ("location_aware", (2.5, 40), {}),
    ],
)
def test_settings_that_clamp_no_triplet_are_one_training(method, margins, options):
    for x, labels in fixed_batches().values():
        found = []
        for margin in margins:
            leaf = x.float().requires_grad_()
            loss = build_loss(method, num_classes=3, embedding_dim=6, margin=margin, **options)
            (gradient,) = torch.autograd.grad(loss(leaf, labels), leaf)
            found.append(along_the_sphere(gradient, x.float()))
        for other in found[1:]:
            torch.testing.assert_close(other, found[0], rtol=0, atol=1e-6)


def test_a_head_over_outputs_begins_2_8_times_as_long(loaded):
    rows = loaded.rows("karaman2021", Where(method="ranking", fold=0, split="open-4fold"))
    specs = {spec.head_initialization: spec for spec in map(loaded.spec, rows)}
    torch.manual_seed(0)
    lengths = {name: _head(spec, 1000).weight.norm().item() for name, spec in specs.items()}
    ratio = lengths["kaiming_outputs"] / lengths["kaiming_inputs"]
    assert ratio == pytest.approx(math.sqrt(1000 / 128), rel=0.01)
    assert round(ratio, 1) == 2.8


def test_one_iteration_per_projection_loses_most_of_what_profs_loses():
    scores = by_seed("can2019_omniglot_sweeps", "recall_at_1")
    lost = scores["", "margin"] - scores["profs", "margin"]
    with_one = scores["", "margin"] - scores["profs,iterations=1", "margin"]
    assert with_one.mean() > lost.mean() / 2 > 0
