"""A training that learns nothing says so, and stops if that cannot change."""

import pytest
from dmlbench.losses.proxy_anchor import ProxyAnchor
from dmlbench.training.watch import LossError, check_zero_losses
from toy_training import history, train

# A hinge that no triplet can reach: similarities differ by 2 at most.
SATISFIED = {"loss": {"name": "triplet", "margin": -5}, "optimizer": {"weight_decay": 0.1}}


def test_a_margin_that_nothing_violates_stops_after_a_pass_over_the_images(tmp_path, toy_data):
    message = r"loss is 0 in all iterations of the first 1 epoch\(s\) and no parameter has a grad"
    with pytest.raises(LossError, match=message) as error:
        train(tmp_path, toy_data, SATISFIED)
    assert "\n" not in str(error.value)
    assert "check its margin" in str(error.value)


def test_epochs_shorter_than_a_pass_are_given_time(tmp_path, toy_data, caplog):
    """Four iterations are a pass: with epochs of one, the first warns and the fourth stops."""
    train(tmp_path / "short", toy_data, SATISFIED | {"iterations_per_epoch": 1, "epochs": 3})
    assert [row["zero_losses"] for row in history(tmp_path / "short")] == [1, 1, 1]
    warnings = [line for line in caplog.messages if "loss is 0" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("loss is 0 in all iterations of epoch 1: either all tuples")
    with pytest.raises(LossError, match="of the first 4"):
        train(tmp_path / "long", toy_data, SATISFIED | {"iterations_per_epoch": 1, "epochs": 5})


def test_a_loss_that_falls_to_zero_gives_a_warning_and_continues(caplog):
    check_zero_losses([0.0, 0.5, 1.0], is_idle=False, has_passed=True)
    check_zero_losses([0.0, 0.5, 1.0, 1.0], is_idle=False, has_passed=True)
    (line,) = caplog.messages
    assert line.startswith("loss is 0 in all iterations of epoch 3:")


def test_a_gradient_in_spite_of_a_loss_of_zero_is_learning(caplog):
    check_zero_losses([1.0], is_idle=False, has_passed=True)
    assert len(caplog.messages) == 1


def test_the_history_has_the_share_of_zero_losses(tmp_path, toy_data):
    train(tmp_path, toy_data, {"epochs": 1})
    assert [row["zero_losses"] for row in history(tmp_path)] == [0]


def of_constant_loss(self, embeddings, labels):
    return (0 * embeddings).sum() + 5


def of_huge_gradients(self, embeddings, labels):
    return 1e30 * embeddings[:, 0].mean()


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (of_constant_loss, r"^loss is 5 and no parameter has received a gradient in the first 1 "),
        (of_huge_gradients, r"^the state of AdamW is not finite, so some weights no longer move"),
    ],
)
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_loss_that_moves_no_weight_stops(
    tmp_path, toy_data, monkeypatch, forward, message, weight_decay
):
    monkeypatch.setattr(ProxyAnchor, "forward", forward)
    changes = {"loss": {"name": "proxy_anchor"}, "optimizer": {"weight_decay": weight_decay}}
    with pytest.raises(LossError, match=message):
        train(tmp_path, toy_data, changes)
    assert not (tmp_path / "model.safetensors").exists()
