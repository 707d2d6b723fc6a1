"""`make gpu-check` at toy size on the CPU: complete, in two minutes, and able to fail."""

import functools
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from dmlbench.marked_text import read_marked
from project import REPOSITORY, script_of_docs

BENCHMARKS = REPOSITORY / "benchmarks"


def check(output, *options):
    return subprocess.run(
        [
            sys.executable,
            BENCHMARKS / "gpu_check.py",
            "--device",
            "cpu",
            "--toy",
            *options,
            "--output",
            output,
        ],
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_all_of_it_runs_at_toy_size(tmp_path):
    done = check(tmp_path / "found.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    parts = {found["part"] for found in report["findings"]}
    assert parts == {
        *("losses", "miners", "metrics", "images", "resuming", "ceiling", "steps", "memory"),
        *("loss share", "library", "input", "evaluation", "together"),
    }
    assert not [found for found in report["findings"] if found["verdict"] == "MISSED"]
    assert len(done.stdout.splitlines()) == len(report["findings"]) + 1


@pytest.fixture
def report():
    sys.path.insert(0, str(BENCHMARKS))
    import gpu_report

    yield gpu_report
    sys.path.remove(str(BENCHMARKS))


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


@pytest.mark.slow
def test_the_check_itself_makes_no_mistake_of_device(report):
    import gpu_check
    from pretended_gpu import pretended_gpu

    with pretended_gpu() as gpu:
        found = list(gpu_check.findings(gpu, gpu_check.TOY, ["equal", "losses", "input"]))
    assert [each.line for each in found if each.verdict == "FAILED"] == []
    right = [each for each in found if each.part in ("losses", "miners", "metrics", "images")]
    assert {each.verdict for each in right} == {"ok"}


def only_triplet(check, monkeypatch):
    """Let the check know a loss and no miner."""
    monkeypatch.setattr(check, "losses", SimpleNamespace(available=lambda: ["triplet"]))
    monkeypatch.setattr(check, "miners", SimpleNamespace(available=lambda: []))


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


def test_json_has_words_for_what_is_not_finite(report):
    for value in (float("nan"), float("inf")):
        found = report.Finding("part", "what", value, "s", most=1.0)
        written = json.dumps(found.as_dict(), allow_nan=False)
        assert json.loads(written)["value"] == str(value)
        assert json.loads(written)["verdict"] == "MISSED"


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


def test_a_wrong_loss_is_found(report, monkeypatch):
    import gpu_equal
    import torch
    from dmlbench.losses import contrastive

    cpu = torch.device("cpu")
    right = list(gpu_equal.equal_losses(cpu, ["contrastive"]))
    assert {found.verdict for found in right} == {"ok"}
    exact = contrastive.cosine_similarities

    def rounded(x):
        return exact(x) if x.dtype == torch.float64 else 1.01 * exact(x)

    monkeypatch.setattr(contrastive, "cosine_similarities", rounded)
    wrong = list(gpu_equal.equal_losses(cpu, ["contrastive"]))
    assert "MISSED" in {found.verdict for found in wrong}


def test_a_gradient_that_is_no_number_is_found(report, monkeypatch):
    import gpu_equal
    import torch

    whole = gpu_equal._value_and_gradients

    def broken(name, dtype, device):
        value, *gradients = whole(name, dtype, device)
        # The last is that of the proxies, and looked at after the others.
        return [
            value,
            *gradients[:-1],
            gradients[-1] * (1 if dtype == torch.float64 else torch.nan),
        ]

    monkeypatch.setattr(gpu_equal, "_value_and_gradients", broken)
    found = list(gpu_equal.equal_losses(torch.device("cpu"), ["proxy_anchor"]))
    assert [each.verdict for each in found] == ["ok", "MISSED"] * 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")  # the library's histograms
def test_all_losses_of_the_library_take_the_batch_of_a_gpu(report):
    import gpu_check
    import torch

    clock = gpu_check.Clock(torch.device("cpu"), 0)
    found = list(gpu_check.gpu_rates.library_ratios(clock, gpu_check.FULL))
    assert [each.what for each in found if each.verdict == "FAILED"] == []
    assert len(found) > 20


def test_pinned_memory_that_is_given_away_too_early_is_found(report, monkeypatch):
    import gpu_equal
    import torch

    cpu = torch.device("cpu")
    pinned, *_ = gpu_equal.equal_images(cpu)
    assert (pinned.what, pinned.verdict) == ("batches through pinned memory", "ok")
    same = []

    def one_buffer(self, batch):
        same[:] = same or [batch.clone()]
        return same[0].copy_(batch)

    monkeypatch.setattr(gpu_equal.feeds.Feed, "_placed", one_buffer)
    pinned, *_ = gpu_equal.equal_images(cpu)
    assert pinned.verdict == "MISSED"


def test_images_that_a_gpu_is_fed_are_those_of_its_network(report, tmp_path):
    import gpu_input

    store = gpu_input.random_store(tmp_path, side=6, images=5, channels=3)
    assert store.shape == (3, 6, 6)
    assert len(store) == 5
    batch = store.batch([4, 0, 4])
    assert batch.shape == (3, 3, 6, 6)
    assert (batch[0] == batch[2]).all()
    assert (batch[0] != batch[1]).any()


def test_scoring_is_timed_once_its_kernels_are_loaded(report, monkeypatch):
    import gpu_check
    from dmlbench.evaluation.walk import _WORTH_ROUNDING

    sizes = []

    def noted(vectors, labels, **options):
        sizes.append(len(vectors))

    monkeypatch.setattr(gpu_check.gpu_rates, "evaluate", noted)
    full = gpu_check.FULL
    scale = full._replace(
        spaces={name: (size, 2, *rest) for name, (size, _, *rest) in full.spaces.items()}
    )
    clock = gpu_check.Clock(gpu_check.torch.device("cpu"), 0)
    list(gpu_check.gpu_rates.evaluations(clock, scale))
    assert sizes[1::2] == [60_502, 1_000_000]
    assert all(_WORTH_ROUNDING <= size < 30_000 for size in sizes[::2])


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


@pytest.mark.slow
@pytest.mark.parametrize("batch", [8, "none"])
def test_trainings_at_once_are_started_once_and_ended(report, monkeypatch, batch):
    import gpu_check
    from gpu_sharing import subprocess as processes

    started, start = [], processes.Popen

    def popen(*arguments, **options):
        started.append(start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(processes, "Popen", popen)
    scale = gpu_check.TOY._replace(networks={"convnet4": batch})
    clock = gpu_check.Clock(gpu_check.torch.device("cpu"), 0.05)
    found = gpu_check.gpu_sharing.together(clock, scale)
    if batch == 8:
        assert [each.value > 0 for each in found] == [True] * 3
    else:
        with pytest.raises(ChildProcessError, match="status 1"):
            list(found)
    assert len(started) == 2
    assert all(job.returncode is not None for job in started)


@pytest.mark.slow
def test_without_a_gpu_it_says_what_is_allowed():
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "gpu_check.py"],
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 1
    assert done.stderr == "torch sees no GPU here; allowed: --device cpu --toy\n"


def test_the_page_says_what_a_gpu_measured():
    from_gpu = script_of_docs("from_gpu")
    assert read_marked(from_gpu.PAGE, "from_gpu") == from_gpu.table(), "`make gpu-page`"
    assert len(from_gpu.table().splitlines()) > 20
