"""The tree-structured Parzen estimator."""

from collections.abc import Mapping

import optuna
from optuna.samplers import TPESampler

from dmlbench.plan.ranges import Parameter
from dmlbench.search.distributions import Values
from dmlbench.search.strategies._draw import drawn
from dmlbench.values import Count, CountOrZero


class Tpe:
    """Values that are more likely among the best trials than among the others.

    Bergstra et al. 2011, over all parameters together, by Optuna. Running trials of other workers
    count as bad, so that no two workers try the same values. The draw for a trial depends on the
    seed, its number and the trials before it: with one worker a search is reproducible.

    Args:
        parameters: place -> its values.
        seed: of the draws.
        startup_trials: number of first trials, whose values are drawn at random.
        candidates: how many draws the most promising is picked from.
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        seed: int,
        *,
        startup_trials: CountOrZero = 10,
        candidates: Count = 24,
    ):
        self.parameters = parameters
        self.seed = seed
        self.settings = {"n_startup_trials": startup_trials, "n_ei_candidates": candidates}

    def propose(self, study: optuna.Study) -> Values:
        """The next trial's values."""
        return drawn(
            study,
            self.parameters,
            lambda seed: TPESampler(multivariate=True, seed=seed, **self.settings),
            self.seed,
        )
