"""The watch over the losses of an epoch."""

import numpy as np
import pytest
import torch
from dmlbench.training.watch import LossError, LossWatch


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_loss_that_is_not_finite_is_named_with_its_iteration_and_batch(value):
    watch = LossWatch(lambda iteration: f"in iteration {iteration}")
    watch.add(np.array([1, 2]), torch.tensor(0.5))
    watch.add(np.array([3, 4]), torch.tensor(float(value)))
    with pytest.raises(
        LossError, match=rf"^loss is {value} in iteration 1; ids of the batch: 3 4$"
    ):
        watch.look()


def test_the_mean_and_the_share_of_zeros_are_those_of_all_losses():
    watch = LossWatch(str)
    for value in (0.0, 1.0, 2.0):
        watch.add(np.array([0]), torch.tensor(value))
    assert watch.look() == 1.0
    assert watch.zeros == pytest.approx(1 / 3)
