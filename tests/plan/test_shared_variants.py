"""Variants of config/variants.yaml: any study may list them, none gets them otherwise."""

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.costs import costs

FAST = {"precision": "bfloat16", "compile": True, "optimizer": {"fused": True}}
SHARED = {
    "bfloat16": {"precision": "bfloat16"},
    "tf32": {"precision": "tf32"},
    "compiled": {"compile": True},
    "fused": {"optimizer": {"fused": True}},
    "fast": FAST,
    "bfloat16,fused": {"precision": "bfloat16", "optimizer": {"fused": True}},
}


def listed(configured, *variants, **grid):
    configured.grid(**{"embedding_dim": 8, "method": "contrastive", "seed": 0} | grid)
    configured.change("studies/mine", ["runs", 0, "variant"], list(variants))
    return configured.load()


def test_none_is_there_unasked(configured):
    specs = [run.spec for run in configured.load().runs("mine")]
    assert {(spec.precision, spec.compile, spec.optimizer.fused) for spec in specs} == {
        ("float32", False, False)
    }


@pytest.mark.parametrize("name", SHARED)
def test_a_study_asks_for_one_by_name_and_it_changes_nothing_else(configured, name):
    loaded = listed(configured, "base", name)
    base, variant = (loaded.spec(row).as_dict() for row in loaded.rows("mine"))
    assert variant == merged(base, SHARED[name])
    assert len(loaded.runs("mine")) == 2


def test_the_variant_of_a_study_comes_before_one_of_the_same_name(configured):
    configured.change("studies/mine", ["variants"], {"fast": {"set": {"epochs": 1}}})
    loaded = listed(configured, "fast")
    (row,) = loaded.rows("mine")
    assert (loaded.spec(row).epochs, loaded.spec(row).precision) == (1, "float32")


def test_an_unknown_one_is_still_refused(configured):
    with pytest.raises(UserError, match=r"variant 'fsat'; did you mean 'fast'"):
        listed(configured, "fsat")


def of_psomas(configured, *variants):
    loaded = listed(
        configured,
        *variants,
        dataset="cub200",
        network="resnet50",
        embedding_dim=64,
        method=["contrastive", "triplet"],
        recipe="psomas2020",
        seed=list(range(10)),
    )
    ahead = costs.Ahead({loaded.run(row): row for row in loaded.rows("mine")})
    return costs.lines(loaded, ahead, gpu=True)


def test_the_cost_of_both_is_shown_before_it_is_spent(configured):
    plain, fast, total = of_psomas(configured, "base", "fast")
    assert plain.startswith("  resnet50 at 224 pixels, 20 trainings: about ")
    assert fast.startswith("  resnet50 at 224 pixels in bfloat16, 20 trainings: about ")
    # By hand, for batches of 100: 32.2 + 104.4 ms a step, and in bfloat16 20.8 + 10.9.
    hours = float(plain.split("about ")[1].split(" hours")[0])
    minutes = float(fast.split("about ")[1].split(" minutes")[0])
    assert minutes == pytest.approx(60 * hours * 31.7 / 136.6, rel=0.1)
    assert "as timed on one NVIDIA H200" in fast
    assert "40 trainings" in total
