"""One parameter at a time."""

from collections.abc import Iterator, Mapping

import optuna
from optuna.trial import TrialState

from dmlbench.plan.catalogs.ranges import Parameter, Value
from dmlbench.search.distributions import Values, values_of
from dmlbench.search.trials import best_of
from dmlbench.values import Count, Fact, Part


class Coordinate(Part):
    """Tries all values of one parameter after the other, each time keeping the best.

    Source: psomas2020 section 5.2. While the values of one parameter are tried, those before it
    have their best values and those after it their starting values. No point is tried twice. Of
    equal scores, the first one counts.

    The text leaves open the values of parameters before they are searched (here those of the tuned
    run: table 4's), the order of parameters (here as listed: table 15's), and whether the first one
    is searched again after the last one (here it is not).

    Args:
        parameters: place -> its values, a grid or choices.
        spec_values: place -> the value of the run that is tuned.
        start: place -> starting value, if it is not that of the run.
        passes: how often every parameter is searched; a pass without a change is the last.
    """

    parameters: Fact[Mapping[str, Parameter]]
    spec_values: Fact[Mapping[str, Value]]
    start: Mapping[str, bool | float | str] | None = None
    passes: Count = 1

    def propose(self, study: optuna.Study) -> Values | None:
        """The next untried value of the parameter that is being searched."""
        tried = [
            (values_of(trial, self.parameters), trial) for trial in study.get_trials(deepcopy=False)
        ]
        current = {**self.spec_values, **(self.start or {})}
        for place in self._order():
            line = [current | {place: value} for value in self.parameters[place].values]
            on_line = [trial for values, trial in tried if values in line]
            for values in line:
                if not any(values == others for others, _ in tried):
                    return values
            if any(trial.state == TrialState.RUNNING for trial in on_line):
                return None
            best = best_of(on_line)
            if best is not None:
                current = values_of(best, self.parameters)
        return None

    def _order(self) -> Iterator[str]:
        for _ in range(self.passes):
            yield from self.parameters
