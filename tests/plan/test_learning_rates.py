"""The backbone's highest learning rate is the printed one: no warm-up hides a step of the schedule.

With five warm-up epochs and a step of five, the backbone learned at a tenth of the rate.
"""

import pytest
import torch
from project import STUDIES, every_study

OTHERWISE = {("psomas2020", "warmup_5")}
"""Variants (study, name) that change this rate on purpose."""


def highest_rate(spec):
    """The highest rate of the backbone over a training, by torch's own schedule.

    During warm-up the backbone does not change, while the schedule continues.
    """
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=spec.optimizer.learning_rate)
    step = spec.schedule.step if spec.schedule else spec.epochs + 1
    gamma = spec.schedule.gamma if spec.schedule else 1
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step, gamma)
    rates = []
    for epoch in range(spec.epochs):
        if epoch >= spec.warmup_epochs:
            rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return max(rates)


@pytest.mark.parametrize("study", STUDIES)
def test_the_backbone_learns_at_the_rate_of_the_optimizer(study):
    loaded = every_study()
    cases = {}
    for row in loaded.rows(study):
        spec = loaded.spec(row)
        if spec.epochs and (study, row.variant) not in OTHERWISE:
            case = (spec.epochs, spec.warmup_epochs, spec.optimizer.learning_rate)
            cases[*case, spec.schedule and spec.schedule.model_dump_json()] = (row, spec)
    for row, spec in cases.values():
        assert highest_rate(spec) == pytest.approx(spec.optimizer.learning_rate), row.label


@pytest.mark.parametrize(("study", "variant"), sorted(OTHERWISE))
def test_a_variant_that_says_otherwise_learns_at_less(study, variant):
    loaded = every_study()
    rows = [row for row in loaded.rows(study) if row.variant == variant]
    assert rows
    for row in rows:
        spec = loaded.spec(row)
        assert highest_rate(spec) < spec.optimizer.learning_rate
