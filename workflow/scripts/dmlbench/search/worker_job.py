"""A worker's job: it trains trials of a search, together with the search's other workers."""

from pathlib import Path

import yaml

from dmlbench import registry
from dmlbench.files import write_text
from dmlbench.plan.specs.searches import starting_values, trials_digest
from dmlbench.plan.specs.spec import complete
from dmlbench.search.objective import TrainingObjective
from dmlbench.search.trials import open_trials
from dmlbench.search.worker import work


def run_worker(search: str, facts: dict, *, folder: Path, output: Path, **arguments) -> None:
    """Evaluate trials until a search's budget is spent.

    Args:
        search, facts, folder: as `open_trials` takes them.
        output: written: the numbers of the trials that were evaluated here, as YAML.
        arguments: of `dmlbench.training.loop.train`: data, device and threads.

    Raises:
        UserError: too many trials have failed; as `train`.
    """
    trials, specs = open_trials(search, facts, folder), facts["trial_specs"]
    given = {
        "parameters": trials.parameters,
        "spec_values": starting_values(complete(specs[0]), trials.parameters),
        "seed": specs[0]["seed"],
        "search": trials_digest(facts),
    }
    strategy = registry.build("search/strategies", **facts["strategy"], context=given)
    done = work(trials, strategy, TrainingObjective(specs, trials.folder / "trials", arguments))
    write_text(output, yaml.safe_dump({"trials": done}))
