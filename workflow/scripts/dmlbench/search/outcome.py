"""The results of a search: its trials, and the best of them."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
from optuna.trial import TrialState

from dmlbench.errors import UserError
from dmlbench.parquet import write_table
from dmlbench.search.best import Best, write_best
from dmlbench.search.distributions import values_of
from dmlbench.search.trials import Trials, best_of, open_trials, reasons

STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
}


def finalize(search: str, facts: dict, *, folder: Path, trials: Path, best: Path) -> None:
    """Write the results of a search when its workers are done.

    Args:
        search, facts, folder: as `open_trials` takes them.
        trials: written: one row per trial, as `trials_table` describes it.
        best: written: the values of the best trial, as `dmlbench.search.best` describes it.

    Raises:
        UserError: a worker was lost with its trial, or no trial is complete.
    """
    recorded = open_trials(search, facts, folder)
    running = recorded.get(TrialState.RUNNING)
    if running:
        numbers = ", ".join(str(trial.number) for trial in running)
        raise UserError(
            f"search {search}: trials {numbers} are not finished; remove "
            f"{Path(best).parent}/workers and run again"
        )
    summary = _best(recorded, facts["trial_specs"])
    write_table(trials_table(recorded), trials)
    write_best(best, summary)


def trials_table(trials: Trials) -> pa.Table:
    """One row per trial, by number.

    Columns: search, number, state (complete, pruned or failed), values (JSON: place -> value),
    validation (score of the best epoch, a fraction; with folds, the mean over folds; missing unless
    complete), epochs (how many were scored, over all folds), trained (false for repeated values,
    which are trained once), attempts (1 unless its worker was lost), seconds (of the last attempt),
    problem (why it failed).
    """
    frozen = trials.get()
    facts = [trial.user_attrs for trial in frozen]
    values = [values_of(trial, trials.parameters) for trial in frozen]
    complete = [trial.state == TrialState.COMPLETE for trial in frozen]
    scores = [trial.value if done else None for trial, done in zip(frozen, complete, strict=True)]
    return pa.table(
        {
            "search": pa.array([trials.search] * len(frozen)),
            "number": pa.array([trial.number for trial in frozen], pa.int64()),
            "state": pa.array([STATES[trial.state] for trial in frozen]),
            "values": pa.array([json.dumps(some) for some in values]),
            "validation": pa.array(scores, pa.float64()),
            "epochs": pa.array([len(trial.intermediate_values) for trial in frozen], pa.int64()),
            "trained": pa.array(["duplicate_of" not in fact for fact in facts]),
            "attempts": pa.array([fact["attempts"] for fact in facts], pa.int64()),
            "seconds": pa.array([fact.get("seconds", 0.0) for fact in facts], pa.float64()),
            "problem": pa.array([fact.get("problem") for fact in facts], pa.string()),
        }
    )


def _best(trials: Trials, specs: list[dict]) -> Best:
    states = Counter(STATES[trial.state] for trial in trials.get())
    best = best_of(trials.get())
    if best is None:
        counted = ", ".join(f"{count} {state}" for state, count in states.items())
        why = reasons(trials.get())
        raise UserError(
            f"search {trials.search}: no complete trial among its {states.total()} ({counted})"
            + (f": {why}" if why else "")
        )
    return Best(
        search=trials.search,
        metric=specs[0]["selection_metric"],
        validation=best.value,
        folds=None if specs[0]["fold"] is None else [spec["fold"] for spec in specs],
        trial=best.number,
        trials=dict(states),
        values=values_of(best, trials.parameters),
    )
