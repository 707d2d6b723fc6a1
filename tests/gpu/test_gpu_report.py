"""What `make gpu-check` reports: limits, failures, the order of its parts, a page of numbers."""

import functools
import json
import sys
from types import SimpleNamespace

import pytest
from dmlbench.marked_text import read_marked
from project import script_of_docs


@pytest.mark.parametrize(
    ("value", "limits", "verdict"),
    [
        (1.0, {}, ""),
        (None, {"most": 1.0}, ""),
        (1.0, {"most": 1.0}, "ok"),
        (1.1, {"most": 1.0}, "MISSED"),
        (0.9, {"least": 1.0}, "MISSED"),
        (1.0, {"least": 0.5, "most": 2.0}, "ok"),
        (float("nan"), {"most": 1.0}, "MISSED"),
        (float("nan"), {"least": 1.0}, "MISSED"),
    ],
)
def test_a_limit_is_kept_or_missed(report, value, limits, verdict):
    finding = report.Finding("part", "what", value, "s", **limits)
    assert finding.verdict == verdict
    assert verdict in finding.line


def test_json_has_words_for_what_is_not_finite(report):
    for value in (float("nan"), float("inf")):
        found = report.Finding("part", "what", value, "s", most=1.0)
        written = json.dumps(found.as_dict(), allow_nan=False)
        assert json.loads(written)["value"] == str(value)
        assert json.loads(written)["verdict"] == "MISSED"


def only_triplet(check, monkeypatch):
    """Let the check know a loss and no miner."""
    monkeypatch.setattr(check, "losses", SimpleNamespace(available=lambda: ["triplet"]))
    monkeypatch.setattr(check, "miners", SimpleNamespace(available=lambda: []))


@pytest.mark.slow
def test_all_of_it_runs_as_trainings_do(report, monkeypatch):
    import gpu_check
    import torch
    from dmlbench.losses import triplet

    seen, forward = [], triplet.Triplet.forward

    @functools.wraps(forward)
    def look(self, *given):
        matmul = torch.backends.cuda.matmul
        seen.append((torch.get_deterministic_debug_mode(), matmul.allow_tf32))
        return forward(self, *given)

    # As a container of NVIDIA's may have it.
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_deterministic_debug_mode("default")
    monkeypatch.setattr(triplet.Triplet, "forward", look)
    only_triplet(gpu_check, monkeypatch)
    monkeypatch.setattr(gpu_check, "TOY_LOSSES", ["triplet"])
    scale = gpu_check.TOY._replace(library=("triplet",))
    monkeypatch.setattr(gpu_check, "TOY", scale)
    found = list(gpu_check.findings(torch.device("cpu"), scale, ["equal", "resuming", "losses"]))
    assert "FAILED" not in {each.verdict for each in found}
    assert set(seen) == {(2, False)}


def test_a_loss_that_fails_stops_no_other(report, monkeypatch):
    import gpu_equal
    import torch

    whole = gpu_equal._value_and_gradients

    def failing(name, dtype, device):
        if name == "margin":
            raise RuntimeError("no deterministic implementation, but\nmore")
        return whole(name, dtype, device)

    monkeypatch.setattr(gpu_equal, "_value_and_gradients", failing)
    names = ["margin", "triplet"]
    failed, *rest = gpu_equal.equal_losses(torch.device("cpu"), names)
    assert failed.verdict == "FAILED"
    assert failed.line.endswith("FAILED RuntimeError: no deterministic implementation, but")
    assert {found.verdict for found in rest} == {"ok"}


@pytest.mark.parametrize(
    ("end", "failure"),
    [(MemoryError("none left"), "MemoryError: none left"), (KeyboardInterrupt(), "interrupted")],
    ids=["a part fails", "all of it is ended"],
)
def test_what_was_found_is_written_however_it_ends(report, monkeypatch, tmp_path, end, failure):
    import gpu_check

    def metrics(device, images):
        yield report.Finding("metrics", "nmi", 0.0, "difference", most=0)
        raise end

    only_triplet(gpu_check, monkeypatch)
    monkeypatch.setattr(gpu_check.gpu_equal, "equal_metrics", metrics)
    output = tmp_path / "found.json"
    options = ["--device", "cpu", "--toy", "--part", "equal", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", *options])
    monkeypatch.setattr(gpu_check.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        gpu_check.main()
    assert ended.value.code == 1
    found = json.loads(output.read_text())["findings"]
    assert [each["failure"] for each in found if each["verdict"] == "FAILED"] == [failure]
    assert {each["what"] for each in found} >= {"triplet, float32", "nmi"}
    assert ("images" in {each["part"] for each in found}) == (failure != "interrupted")


def test_what_is_only_of_interest_begins_where_it_can_end_in_time(report, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(report.time, "perf_counter", lambda: now[0])
    budget = report.Budget(99)

    def work(seconds):
        now[0] += seconds
        yield report.Finding("steps", "what", seconds)

    def tried(kind, seconds):
        (found,) = budget.attempted("steps", "what", kind, 40, work(seconds))
        return found.value

    assert tried("compiled", 30) == 30
    # The second is taken to last as long as the first; one of another kind, as is assumed.
    assert tried("compiled", 35) == 35
    assert tried("graphs", 1) is None
    assert tried("compiled", 1) is None
    assert now == [65]


def test_what_is_only_of_interest_comes_last(report, monkeypatch):
    import gpu_check

    for module, names in {
        "gpu_rates": ["ceiling", "step_rates", "loss_shares", "library_ratios", "evaluations"],
        "gpu_input": ["input_rates"],
        "gpu_sharing": ["together"],
    }.items():
        for name in names:
            one = [report.Finding(name, "what", 1.0)]
            monkeypatch.setattr(getattr(gpu_check, module), name, lambda *_, one=one: iter(one))
    monkeypatch.setattr(gpu_check, "OPTIONAL_S", -1)
    parts = ["steps", "losses", "input", "evaluation", "together"]
    scale = gpu_check.TOY._replace(compiled=("convnet4",))
    found = list(gpu_check.findings(gpu_check.torch.device("cpu"), scale, parts))
    left_out = [each.unit == "left out: time is up" for each in found]
    assert left_out == [False] * 7 + [True] * (len(found) - 7)
    whats = [each.what for each in found if each.unit == "left out: time is up"]
    assert whats[:2] == ["convnet4 bfloat16 compiled", "convnet4 float32 channels_first"]
    assert len(whats) == 3 + 2 * 3


def test_the_page_says_what_a_gpu_measured():
    from_gpu = script_of_docs("from_gpu")
    assert read_marked(from_gpu.PAGE, "from_gpu") == from_gpu.table(), "`make gpu-page`"
    assert len(from_gpu.table().splitlines()) > 20
