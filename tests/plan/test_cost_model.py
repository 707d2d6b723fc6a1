"""The time of a training: fitted to those that ran, or from operations and speeds."""

import functools
import json
import re
from pathlib import Path

import pytest
import step_memory
import torch
import yaml
from dmlbench import plan, registry
from dmlbench.errors import UserError
from dmlbench.losses import available, build_loss
from dmlbench.networks.work import as_text
from dmlbench.plan.catalogs.choices import Loss, SplitRule
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.costs import costs, estimates
from dmlbench.plan.costs.estimates import Estimator, Prior, Work, fit
from dmlbench.plan.costs.timed_gpu import timed_gpu
from hypothesis import given, settings
from hypothesis import strategies as st
from project import REPOSITORY, load_studies, script_of_docs
from torch.utils.flop_counter import FlopCounterMode

CONFIG = Path(__file__).resolve().parents[2] / "config"
PRIOR = read_yaml(CONFIG / "costs.yaml", Prior)
NETWORKS = yaml.safe_load((CONFIG / "networks.yaml").read_text())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 10**7), min_size=1, max_size=20),
    st.floats(0, 1000),
    st.floats(1e-4, 1),
)
def test_a_line_is_found_again(images, start, an_image):
    found = fit([(count, start + an_image * count) for count in images], start)
    assert found == (pytest.approx(start), pytest.approx(an_image, rel=1e-6, abs=1e-9))


@pytest.mark.parametrize(
    ("ran", "wanted"),
    [
        ([(100, 20)], (6, 0.14)),
        ([(100, 20), (300, 40)], (6, 0.12)),  # both took 60 s in all
        ([(100, 4), (100, 8)], (4, 0.02)),  # the first one started earlier than expected
        ([(0, 3)], (3, 0)),  # the untrained network
    ],
)
def test_a_fit_adds_up_to_what_was_taken_and_no_part_is_negative(ran, wanted):
    start, an_image = fit(ran, 6)
    assert (start, an_image) == (pytest.approx(wanted[0]), pytest.approx(wanted[1]))
    assert sum(start + count * an_image for count, _ in ran) == pytest.approx(
        sum(seconds for _, seconds in ran)
    )


@pytest.mark.parametrize("network", [key for key in NETWORKS if "frozen" not in NETWORKS[key]])
def test_multiply_adds_are_what_torch_counts(network):
    entry = NETWORKS[network]
    backbone = {"name": entry["backbone"]}
    if isinstance(entry["backbone"], dict):
        backbone = dict(entry["backbone"])
    work = PRIOR.networks[network]
    channels = 1 if entry["mode"] == "gray" else 3
    with torch.device("meta"):
        built = registry.build(
            "networks/backbones",
            backbone.pop("name"),
            context={"input_channels": channels},
            **backbone,
        )
        images = torch.randn(2, channels, work.pixels, work.pixels)
    with FlopCounterMode(display=False) as counter:
        built(images)
    per_image = counter.get_total_flops() / 2 / len(images)
    assert work.multiply_adds == pytest.approx(per_image / 1e9, rel=5e-3)


def a_spec(name, pixels=28, **changes):
    spec = step_memory.spec(name)
    network = spec.network.model_copy(update={"pixels": pixels})
    return spec.model_copy(update={"network": network, **changes})


def a_head(dataset, loss, **changes):
    network = step_memory.spec("resnet50").network.model_copy(update={"frozen": []})
    changes |= {"loss": Loss.model_validate(loss), "embedding_dim": 128, "batch_size": 100}
    return a_spec("resnet50", dataset=dataset, **changes).model_copy(update={"network": network})


@functools.cache
def unrun(study, *, gpu):
    """Estimates of a study before anything has run."""
    configuration = {"studies": [study], "pathvars": {"results": str(CONFIG / "none")}}
    return Estimator(plan.reload(configuration, CONFIG), CONFIG / "none", gpu=gpu)


def seconds(network, spec, images, *, gpu):
    """What the prior says of a training."""
    model = unrun("demo", gpu=gpu)
    return model._before_any_has_run(network, spec, images, gpu=gpu).seconds


def test_the_prior_of_any_frozen_network_by_hand():
    network = step_memory.spec("resnet50").network.model_copy(update={"frozen": []})
    for dimensions, milliseconds in ((64, 0.013 + 0.00704), (2048, 0.013 + 0.22528)):
        spec = a_spec("resnet50", network=network, embedding_dim=dimensions, batch_size=100)
        expected = 6 + 10_000 * milliseconds / 1000
        assert seconds("unheard_of", spec, 10_000, gpu=False) == pytest.approx(expected)
        on_the_gpu = 16 + 10_000 * (0.006 / 100 + 6 * dimensions**2 / 20.4e12)
        assert seconds("unheard_of", spec, 10_000, gpu=True) == pytest.approx(on_the_gpu)


@pytest.mark.parametrize("name", available())
def test_a_losss_centers_are_its_vectors_for_each_class(name):
    loss = build_loss(name, num_classes=7, embedding_dim=5)
    vectors = sum(each.numel() // 5 for each in loss.parameters() if each.shape[-1:] == (5,))
    assert estimates._centers_per_class(Loss(name=name)) == vectors / 7


# Drawings have 1,640 classes, of which half trains, and of these three quarters in a fold.
@pytest.mark.parametrize(
    ("loss", "split", "fold", "centers"),
    [
        ("contrastive", "half", None, 0),
        ("proxy_nca", "half", None, 820),
        ("soft_triple", "half", None, 8200),
        ({"name": "soft_triple", "centers_per_class": 2}, "half", None, 1640),
        ("soft_triple", "half4fold", 2, 6150),
    ],
)
def test_the_prior_of_a_head_counts_the_centers_of_its_loss(loss, split, fold, centers):
    spec = a_head("drawings", loss, split=SplitRule.model_validate(split), fold=fold)
    milliseconds = 0.013 + 0.00011 * 128 + centers * (0.00002 + 1.6e-7 * 128)
    expected = 6 + 10_000 * milliseconds / 1000
    assert seconds("unheard_of", spec, 10_000, gpu=False) == pytest.approx(expected)
    on_the_gpu = 16 + 10_000 * (0.006 / 100 + 6 * 128 * (128 + centers) / 20.4e12)
    assert seconds("unheard_of", spec, 10_000, gpu=True) == pytest.approx(on_the_gpu)


def test_centers_of_an_unknown_number_of_classes_do_not_count():
    with_centers, without = (a_head("none", loss) for loss in ("soft_triple", "contrastive"))
    assert seconds("", with_centers, 100, gpu=False) == seconds("", without, 100, gpu=False)


# CPU seconds on two cores, of twelve trials of two trainings in 1,000 batches of 128.
@pytest.mark.parametrize(
    ("loss", "least", "most"),
    [("contrastive", 85, 195), ("proxy_anchor", 95, 195), ("soft_triple", 700, 900)],
)
def test_the_prior_of_searches_of_heads_on_drawings_is_near_what_they_took(loss, least, most):
    name = f"heads_drawings_{loss}_128_folds_half"
    assert least < unrun("psomas2020_drawings", gpu=False).search(name).seconds < most


def test_the_network_of_a_folder_of_the_user_is_among_the_priors(tmp_path):
    work = Work(pixels=224, multiply_adds=0.4014)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "costs.yaml").write_text(as_text("mine", work))
    prior = Estimator(load_studies("demo"), CONFIG / "none", gpu=False).prior
    own = Estimator(load_studies("demo", own=[f"{tmp_path}/*"]), CONFIG / "none", gpu=False).prior
    assert own.networks == prior.networks | {"mine": work}


def test_the_prior_of_a_timed_network_by_hand():
    # Per image of batches of 32 a share of 32.2 ms, and 1.0444 ms of 224 pixels or four times that.
    for pixels, area in ((224, 1), (448, 4)):
        spec = a_spec("resnet50", batch_size=32, pixels=pixels)
        expected = 16 + 1000 * (0.0322 / 32 + 0.0010444 * area)
        assert seconds("resnet50", spec, 1000, gpu=True) == pytest.approx(expected)
    spec = a_spec("resnet50", batch_size=32, pixels=224, precision="bfloat16")
    expected = 16 + 1000 * (0.0208 / 32 + 0.0001088)
    assert seconds("resnet50", spec, 1000, gpu=True) == pytest.approx(expected)


def test_the_prior_of_a_network_that_was_not_timed_by_hand():
    # A step takes 6 ms; 3 * 2 * 0.000803e9 operations at 20.4e12 a second.
    spec = a_spec("convnet4_tiny", batch_size=100)
    expected = 16 + 10_000 * (0.006 / 100 + 6 * 0.000803e9 / 20.4e12)
    assert seconds("convnet4_tiny", spec, 10_000, gpu=True) == pytest.approx(expected)
    assert seconds("unheard_of", spec, 10_000, gpu=True) is None


def test_the_prior_is_what_was_timed():
    found = script_of_docs("from_gpu").measured()
    product = found["product of 8192, float32"]
    assert PRIOR.gpu.flops == pytest.approx(0.4e12 * product, rel=2e-3)
    for network, times in PRIOR.gpu.networks.items():
        same = {"googlenet_torchvision": "googlenet"}.get(network, network)
        for precision in ("float32", "tf32", "bfloat16"):
            pattern = rf"{same} {times.pixels}px x(\d+) {precision} eager"
            steps = {
                int(name[1]): int(name[1]) / value * 1000
                for name, value in ((re.fullmatch(pattern, what), found[what]) for what in found)
                if name
            }
            timing = getattr(times, precision)
            if timing is None:
                assert len(steps) < 2
                continue
            for batch, milliseconds in steps.items():
                expected = timing.step + batch * timing.image
                assert milliseconds == pytest.approx(expected, rel=0.02), (network, precision)


def checked(tmp_path, **rates):
    """A file of `make gpu-check`, with a rate for each step and product."""
    found = [{"what": what, "value": value} for what, value in rates.items()]
    found.append({"what": "bninception 224px x180 float32 eager", "value": None})
    file = tmp_path / "gpu-small.json"
    file.write_text(json.dumps({"device": "NVIDIA Small", "findings": found}))
    return file


def test_estimates_are_about_the_gpu_that_was_checked_here(tmp_path):
    # By hand: steps take 40 + 2 ms for each of 32 and 100 images.
    timed = {f"resnet50 224px x{b} float32 eager": 1000 * b / (40 + 2 * b) for b in (32, 100)}
    file = checked(tmp_path, **timed, **{"product of 8192, float32": 10.0})
    results = {"results": str(tmp_path)}
    thesis = load_studies("psomas2020", gpu_check=str(file), pathvars=results)
    model = Estimator(thesis, tmp_path, gpu=True)
    spec = a_spec("resnet50", batch_size=50, pixels=224)
    found = model._before_any_has_run("resnet50", spec, 1000, gpu=True)
    assert found.seconds == pytest.approx(PRIOR.gpu.start + 20 * (0.040 + 50 * 0.002))
    assert found.source == "as timed on one NVIDIA Small"
    # ResNet-18 was not timed: its operations, at 40 % of what large products reach.
    other = a_spec("resnet18", batch_size=50, pixels=224)
    work = PRIOR.networks["resnet18"].multiply_adds
    seconds = PRIOR.gpu.start + 20 * 0.040 + 1000 * 6e9 * work / 4e12
    found = model._before_any_has_run("resnet18", other, 1000, gpu=True)
    assert found.seconds == pytest.approx(seconds)
    rows = {thesis.run(row): row for row in thesis.rows("psomas2020")}
    *_, total = costs.lines(thesis, costs.Ahead(rows), gpu=True)
    assert re.search(r"trainings.*: about [\d,]+ hours", total)


def test_the_h200_of_a_dry_run_is_the_one_that_was_checked():
    benchmarks = REPOSITORY / "results" / "benchmarks"
    found = timed_gpu(benchmarks / "gpu-nvidia-h200-steps.json", PRIOR.gpu)
    assert found.title == PRIOR.gpu.title
    assert len(found.networks) > 8
    for network in found.networks:
        one, other = (device.networks[network].float32 for device in (found, PRIOR.gpu))
        for batch in (32, 128):
            assert one.step + batch * one.image == pytest.approx(
                other.step + batch * other.image, rel=0.05
            ), network


@pytest.mark.parametrize("text", ["", "[]", '{"device": "NVIDIA Small", "findings": []}'])
def test_a_file_that_is_no_check_of_a_gpu_is_named(tmp_path, text):
    (tmp_path / "gpu.json").write_text(text)
    with pytest.raises(UserError, match=r"gpu_check: .*gpu\.json; allowed: a file that `make gpu"):
        timed_gpu(tmp_path / "gpu.json", PRIOR.gpu)
