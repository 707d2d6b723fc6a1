"""State that the workers of a search share, in a folder named by the identity of its trials."""

from pathlib import Path

from dmlbench.plan.ranges import Parameter
from dmlbench.plan.searches import trials_digest
from dmlbench.search.pruners import build_pruner
from dmlbench.search.storage import open_study
from dmlbench.search.trials import Trials


def open_trials(search: str, facts: dict, folder: Path) -> Trials:
    """The trials of a search so far; a search with a different definition has other trials.

    Args:
        search: its id.
        facts: as `dmlbench.plan.searches.search_facts` gives them.
        folder: holds the folders of shared state; on a file system that all workers share.
    """
    parameters = {
        place: Parameter.model_validate(parameter)
        for place, parameter in facts["parameters"].items()
    }
    digest = trials_digest(facts)
    state = Path(folder) / f"state-{digest}"
    pruner = None
    if facts["pruner"]:
        epochs = sum(spec["epochs"] for spec in facts["trial_specs"])
        pruner = build_pruner(**facts["pruner"], epochs=epochs)
    study = open_study(state, digest, pruner)
    return Trials(search, study, parameters, state, facts["budget"], facts["most_failed"])
