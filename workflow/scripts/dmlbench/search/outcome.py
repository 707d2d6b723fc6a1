"""What a search leaves: its trials, the best values, and the scores of the network they give."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from optuna.trial import FrozenTrial, TrialState

from dmlbench.errors import UserError
from dmlbench.evaluation.run_scores import write_scores
from dmlbench.files import whole
from dmlbench.plan.searches import Parameter, with_values
from dmlbench.search.objective import train_in
from dmlbench.search.trials import Board, best_of, values_of
from dmlbench.training.export import export_embeddings

STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
}


def write_outcome(
    search: str,
    board: Board,
    *,
    run: str,
    trial_spec: dict,
    tuned_spec: dict,
    folder: Path,
    arguments: dict,
    metrics: list[str],
    trials: Path,
    best: Path,
    scores: Path,
) -> None:
    """Write a search's trials and best values, and score the network trained with them.

    That network is the best trial's where trials are trained in full; else it is trained here.

    Args:
        search: the search's id.
        board: its trials, all finished.
        run: path of the run that is tuned.
        trial_spec, tuned_spec: plain values of a trial's spec and of the run's, without the
            searched ones.
        folder: of the search; holds the trials' folders, and gets the tuned network's.
        arguments: of `dmlbench.training.loop.train`: data, device and threads.
        metrics: names of `dmlbench.evaluation.names`.
        trials: written: a row a trial, as `trials_table` describes it.
        best: written: number, values and validation score of the best trial, as YAML.
        scores: written: validation and test scores in the long format, with the search as `run`.

    Raises:
        UserError: no trial came to its end.
    """
    found = best_of(board.trials())
    if found is None:
        states = [STATES[trial.state] for trial in board.trials()]
        counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        raise UserError(f"search {search}: no complete trial among its {len(states)} ({counted})")
    values = values_of(found, board.parameters)
    tuned = with_values(tuned_spec, values)
    in_full = tuned == with_values(trial_spec, values)
    home = folder / "trials" / str(found.number) if in_full else folder / "tuned"
    files = train_in(home, tuned, arguments)
    embeddings = home / "embeddings.parquet"
    data = {name: file for name, file in arguments.items() if name != "weights"}
    export_embeddings(tuned, model=files["model"], last=files["last"], **data, output=embeddings)
    _write_scores(search, run, embeddings, metrics, arguments["threads"], scores)
    embeddings.unlink()
    with whole(best) as unfinished:
        content = {
            "search": search,
            "trial": found.number,
            "validation": found.value,
            "values": values,
            "spec": tuned,
        }
        unfinished.write_text(yaml.safe_dump(content, sort_keys=False))
    with whole(trials) as unfinished:
        pq.write_table(trials_table(search, board.trials(), board.parameters), unfinished)


def trials_table(
    search: str, trials: list[FrozenTrial], parameters: Mapping[str, Parameter]
) -> pa.Table:
    """A row a trial, by number.

    Columns: search, number, state (complete, pruned or failed), values (JSON: place -> value),
    validation (score of the best epoch, a fraction; missing unless complete), epochs (how many were
    scored), trained (whether it was: equal values are trained once), attempts (1 unless its worker
    was lost), seconds (of the last attempt), problem (why it failed).
    """
    facts = [trial.user_attrs for trial in trials]
    return pa.table(
        {
            "search": pa.array([search] * len(trials)),
            "number": pa.array([trial.number for trial in trials], pa.int64()),
            "state": pa.array([STATES[trial.state] for trial in trials]),
            "values": pa.array([json.dumps(values_of(trial, parameters)) for trial in trials]),
            "validation": pa.array(
                [trial.value if trial.state == TrialState.COMPLETE else None for trial in trials],
                pa.float64(),
            ),
            "epochs": pa.array([len(trial.intermediate_values) for trial in trials], pa.int64()),
            "trained": pa.array(["twin" not in fact for fact in facts]),
            "attempts": pa.array([fact["attempts"] for fact in facts], pa.int64()),
            "seconds": pa.array([fact.get("seconds", 0.0) for fact in facts], pa.float64()),
            "problem": pa.array([fact.get("problem") for fact in facts], pa.string()),
        }
    )


def _write_scores(
    search: str, run: str, embeddings: Path, metrics: list[str], threads: int, output: Path
) -> None:
    """The run's scores under the search's name: the run itself has other values."""
    with whole(output) as unfinished:
        write_scores(
            run, embeddings=embeddings, metrics=metrics, threads=threads, output=unfinished
        )
        table = pq.read_table(unfinished)
        named = pa.array([f"searches/{search}"] * len(table))
        pq.write_table(table.set_column(0, "run", named), unfinished)
