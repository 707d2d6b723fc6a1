"""Searches of known functions, without a training."""

import sys
from pathlib import Path

from dmlbench import registry
from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.search.storage import open_study
from dmlbench.search.trials import Trials
from dmlbench.search.worker import work

PARAMETERS = {
    "loss.margin": Parameter(low=0, high=1, step=0.1),
    "loss.alpha": Parameter(low=0, high=20, step=2, open=True),
    "loss_factor": Parameter(low=0.5, high=2, step=0.5),
}
START = {"loss.margin": 0.5, "loss.alpha": 16, "loss_factor": 1.25}
OPTIMUM = {"loss.margin": 0.3, "loss.alpha": 6, "loss_factor": 1.5}


def separable(values):
    """Best at OPTIMUM, in each value alone."""
    widths = {place: len(parameter.values) for place, parameter in PARAMETERS.items()}
    return -sum(abs(values[place] - OPTIMUM[place]) / widths[place] for place in values)


class Function:
    """A function as an objective that records how it is used.

    With `epochs`, the score grows towards its last value.
    """

    def __init__(self, function=separable, epochs=0, before=lambda number: None):
        self.function, self.epochs, self.before = function, epochs, before
        self.evaluated, self.kept = [], []

    def evaluate(self, number, values, report):
        self.evaluated.append(values)
        self.before(number)
        score = self.function(values)
        for epoch in range(1, self.epochs + 1):
            report(epoch, score - 1 / epoch)
        return score

    def clear(self, kept):
        self.kept.append(set(kept))


def open_trials(folder, budget=100, parameters=PARAMETERS, pruner=None, most_failed=1.0):
    built = registry.build("search/pruners", **pruner).pruner if pruner else None
    study = open_study(Path(folder), "search", built)
    return Trials("toy", study, parameters, Path(folder), budget, most_failed)


def strategy(name, parameters=PARAMETERS, spec_values=START, seed=0, search="", **options):
    given = {"parameters": parameters, "spec_values": spec_values, "seed": seed, "search": search}
    return registry.build("search/strategies", name, context=given, **options)


def search(folder, name, objective=None, budget=100, **options):
    """Search with one worker; returns the trials and the objective."""
    objective = objective or Function()
    trials = open_trials(folder, budget)
    work(trials, strategy(name, **options), objective)
    return trials, objective


def main(folder, name, budget, marks):
    """A worker process; it leaves a file for each trial that it begins to evaluate."""
    marks = Path(marks)

    def mark(number):
        with open(marks / f"trial{number}", "a") as file:
            file.write("begun\n")
        fatal = marks / f"stop{number}"
        if fatal.exists():
            fatal.unlink()
            print("stopped", flush=True)
            sys.stdin.read()

    work(open_trials(folder, int(budget)), strategy(name), Function(before=mark))


if __name__ == "__main__":
    main(*sys.argv[1:])
