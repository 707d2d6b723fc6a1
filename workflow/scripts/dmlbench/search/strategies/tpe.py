"""The tree-structured Parzen estimator."""

from typing import Annotated

from optuna.samplers import TPESampler

from dmlbench.search.strategies._draw import Drawn
from dmlbench.values import Added, Count, CountOrZero


class Tpe(Drawn):
    """Values that are more likely among the best trials than among the others.

    Bergstra et al. 2011, over all parameters together, by Optuna. Running trials of other workers
    count as bad, so that no two workers try the same values. The draw for a trial depends on the
    seed, its number and the trials before it: with one worker a search is reproducible.

    Args:
        startup_trials: number of first trials, whose values are drawn at random.
        candidates: how many draws the most promising is picked from.
        own_draws: whether two searches over the same values draw different ones.
    """

    startup_trials: CountOrZero = 10
    candidates: Count = 24
    own_draws: Annotated[bool, Added()] = False

    def sampler(self, seed: int) -> TPESampler:
        return TPESampler(
            multivariate=True,
            seed=seed,
            n_startup_trials=self.startup_trials,
            n_ei_candidates=self.candidates,
        )
