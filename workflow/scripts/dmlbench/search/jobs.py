"""The jobs of a search: workers that share its trials, and one that sums up."""

import shutil
from pathlib import Path

import yaml
from optuna.trial import TrialState

from dmlbench.errors import UserError
from dmlbench.files import whole
from dmlbench.plan.searches import Parameter, digest, starting_values
from dmlbench.search.journal import open_study
from dmlbench.search.objective import TrainingObjective
from dmlbench.search.outcome import write_outcome
from dmlbench.search.pruners import build_pruner
from dmlbench.search.strategies import build_strategy
from dmlbench.search.trials import Board
from dmlbench.search.worker import work
from dmlbench.training.version import VERSION


def run_worker(facts: dict, *, folder: Path, output: Path, **arguments) -> None:
    """Evaluate trials until a search's budget is spent, together with its other workers.

    Args:
        facts: as `dmlbench.plan.searches.facts` gives them.
        folder: the search's; on a file system that all workers share.
        output: written: the numbers of the trials that were evaluated here, as YAML.
        arguments: of `dmlbench.training.loop.train`: data, device and threads.
    """
    board = _board(facts, folder)
    options = dict(facts["strategy"])
    strategy = build_strategy(
        options.pop("name"),
        board.parameters,
        spec_values=starting_values(facts["trial_spec"], board.parameters),
        seed=facts["trial_spec"]["seed"],
        **options,
    )
    objective = TrainingObjective(facts["trial_spec"], board.folder / "trials", arguments)
    done = work(board, strategy, objective)
    with whole(output) as unfinished:
        unfinished.write_text(yaml.safe_dump({"trials": done}))


def sum_up(search: str, facts: dict, *, folder: Path, arguments: dict, **outputs) -> None:
    """Write what a search found once its workers are through; see `write_outcome`.

    Args:
        search: its id.
        facts, folder, arguments: as `run_worker` takes them.
        outputs: metrics and files of `write_outcome`.

    Raises:
        UserError: a worker was lost with its trial, or no trial came to its end.
    """
    board = _board(facts, folder)
    running = board.trials(TrialState.RUNNING)
    if running:
        numbers = ", ".join(str(trial.number) for trial in running)
        raise UserError(
            f"search {search}: trials {numbers} are not finished; remove {folder}/workers and run "
            "again"
        )
    write_outcome(
        search,
        board,
        run=facts["run"],
        trial_spec=facts["trial_spec"],
        tuned_spec=facts["tuned_spec"],
        folder=board.folder,
        arguments=arguments,
        **outputs,
    )
    for other in Path(folder).glob("state-*"):
        if other != board.folder:
            shutil.rmtree(other)


def _board(facts: dict, folder: Path) -> Board:
    """The trials of this definition of a search: another one has another folder."""
    parameters = {
        place: Parameter.model_validate(parameter)
        for place, parameter in facts["parameters"].items()
    }
    name = f"{digest(facts)}-v{VERSION}"
    state = Path(folder) / f"state-{name}"
    options = dict(facts["pruner"] or {})
    pruner = options and build_pruner(
        options.pop("name"), epochs=facts["trial_spec"]["epochs"], **options
    )
    return Board(open_study(state, name, pruner or None), parameters, state, facts["budget"])
