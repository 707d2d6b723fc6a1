"""Write the tables of docs/protocols.md from the configuration; `make protocols` runs this."""

import ast
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "workflow" / "scripts"))

from dmlbench import plan  # noqa: E402 (its folder is on the path only now)
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan import Plan, Row, Spec  # noqa: E402
from dmlbench.plan.catalogs.read import read_mapping  # noqa: E402

STUDIES = ("psomas2020", "roth2020", "can2019", "karaman2021", "musgrave2020")
CONFIG = DOCS.parent / "config"
PAGE = DOCS / "protocols.md"

Protocol = list[tuple[Row, Spec]]
"""The trained rows of a study, each with the spec that its recipe alone gives."""


def tables() -> str:
    """The text between the markers of the page."""
    loaded = load_plan()
    protocols = {study: protocol(loaded, study) for study in STUDIES}
    lines = [_line("", (f"[{study}]({study}.md)" for study in STUDIES)), "|---" * 6 + "|"]
    for label, fact in FACTS.items():
        lines.append(_line(label, (fact(loaded, rows) for rows in protocols.values())))
    splits = {
        row.split: loaded.datasets[row.dataset].splits[row.split]
        for rows in protocols.values()
        for row, _ in rows
    }
    rules = {split.name: None for split in splits.values()}
    lines += ["", "| split rule | what it does |", "|---|---|"]
    lines += [f"| `{name}` | {_rule(name)} |" for name in rules]
    return "\n".join(lines)


def load_plan() -> Plan:
    """Load the plan with the papers' studies."""
    values = read_mapping(CONFIG / "config.yaml") | {"studies": list(STUDIES)}
    return plan.load(values, CONFIG)


def protocol(loaded: Plan, study: str) -> Protocol:
    """The rows of a study that are trained by its own recipe, without their variants."""
    rows = (
        row for row in loaded.rows(study) if row.recipe == study and loaded.methods[row.method].loss
    )
    plain = dict.fromkeys(replace(row, study="", variant="") for row in rows)
    return [(replace(row, study=study), loaded.spec(replace(row, study=study))) for row in plain]


def _datasets(loaded: Plan, rows: Protocol) -> str:
    return _listed(loaded.datasets[row.dataset].title for row, _ in rows)


def _splits(loaded: Plan, rows: Protocol) -> str:
    folds: dict[str, set[int]] = {}
    for row, _ in rows:
        folds.setdefault(row.split, set()).update([] if row.fold is None else [row.fold])
    return _listed(
        f"`{name}`" + f" ({len(some)} folds)" * bool(some) for name, some in folds.items()
    )


def _network(loaded: Plan, rows: Protocol) -> str:
    return _listed(loaded.networks[row.network].title for row, _ in rows)


def _sizes(loaded: Plan, rows: Protocol) -> str:
    return _listed(map(str, sorted({row.embedding_dim for row, _ in rows})))


def _sampling(loaded: Plan, rows: Protocol) -> str:
    """Images per class, by the sampling that a method uses."""
    found = {loaded.methods[row.method].sampling: spec.sampler for row, spec in rows}
    texts = {}
    for sampling, sampler in found.items():
        count = sampler.hyperparameters.get("images_per_class")
        texts[sampling] = f"{_counted(count, 'image')} per class" if count else sampler.name
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return _listed(f"{text} ({sampling} methods)" for sampling, text in texts.items())


def _optimizer(loaded: Plan, rows: Protocol) -> str:
    return by_place(rows, lambda spec: spec.optimizer.name)


def _decay(loaded: Plan, rows: Protocol) -> str:
    return by_place(rows, lambda spec: f"{spec.optimizer.weight_decay:g}")


def _moments(loaded: Plan, rows: Protocol) -> str:
    def text(spec: Spec) -> str:
        if spec.optimizer.name == "rmsprop":
            return f"momentum {spec.optimizer.momentum:g}"
        return f"betas {spec.optimizer.betas[0]:g}, {spec.optimizer.betas[1]:g}"

    return by_place(rows, text)


def _schedule(loaded: Plan, rows: Protocol) -> str:
    return by_place(
        rows,
        lambda spec: (
            f"times {spec.schedule.gamma:g} every {spec.schedule.step} epochs"
            if spec.schedule
            else "constant"
        ),
    )


def _length(loaded: Plan, rows: Protocol) -> str:
    def text(spec: Spec) -> str:
        each = spec.iterations_per_epoch
        return f"{spec.epochs}" + (f" of {each} iterations" if each else "")

    return by_place(rows, text)


def _end(loaded: Plan, rows: Protocol) -> str:
    return by_place(
        rows,
        lambda spec: (
            f"after {spec.patience} evaluations without improvement, one every "
            + ("epoch" if spec.evaluate_every == 1 else f"{spec.evaluate_every} epochs")
            if spec.patience
            else "none"
        ),
    )


def _images(role: str) -> Callable[[Plan, Protocol], str]:
    def text(spec: Spec) -> str:
        return ", ".join(_step(step) for step in getattr(spec.transforms, role))

    return lambda loaded, rows: by_place(rows, text)


def _step(step) -> str:
    """A transform with the options that determine which part of an image is used."""
    size, scale = step.hyperparameters.get("size"), step.hyperparameters.get("scale")
    words = step.name.removeprefix("random_") if step.name.endswith("flip") else step.name
    return " ".join(
        [words.replace("_", " ")]
        + ([str(size)] if size else [])
        + ([f"({scale[0]:.3g} to {scale[1]:g} of the area)"] if scale else [])
    )


def _selection(loaded: Plan, rows: Protocol) -> str:
    return by_place(rows, lambda spec: f"`{spec.selection}` by `{spec.selection_metric}`")


def _scored(loaded: Plan, rows: Protocol) -> str:
    """The metrics in the study's tables."""
    found = []
    for table in loaded.studies[rows[0][0].study].tables.values():
        options = table.kind.hyperparameters
        found += [
            *options.get("metrics", []),
            *([options["metric"]] if "metric" in options else []),
        ]
    ks: dict[str, list[int]] = {}
    for name in dict.fromkeys(found):
        base, _, k = name.rpartition("_at_")
        if k.isdigit():
            ks.setdefault(base, []).append(int(k))
        else:
            ks.setdefault(name, [])
    return _listed(
        name + (f" at {', '.join(map(str, sorted(some)))}" if some else "")
        for name, some in sorted(ks.items())
    )


def _together(loaded: Plan, rows: Protocol) -> str:
    forms = [each.forms for each in loaded.studies[rows[0][0].study].combine]
    return _listed(form for some in forms for form in some) or "no"


def _seeds(loaded: Plan, rows: Protocol) -> str:
    """The seeds of a training, without those of settings that are one training under two names."""
    found: dict[Row, set[int]] = {}
    for row in loaded.rows(rows[0][0].study):
        found.setdefault(replace(row, seed=0), set()).add(row.seed)
    return f"{max(map(len, found.values()))}"


def _searches(loaded: Plan, rows: Protocol) -> str:
    study = rows[0][0].study
    names = dict.fromkeys(filter(None, map(loaded.search_of, loaded.rows(study))))
    found = [loaded.searches[name] for name in names]
    if not found:
        return "none"
    strategies = _listed(search.strategy.name for search in found)
    budgets = sorted({search.budget for search in found})
    trials = f"{budgets[0]}" + (f" to {budgets[-1]}" if len(budgets) > 1 else "")
    folds = max(len(search.folds or [None]) for search in found)
    return f"{len(found)} ({strategies}), {trials} trials each" + f", {folds} folds" * (folds > 1)


def _runs(loaded: Plan, rows: Protocol) -> str:
    runs = loaded.runs(rows[0][0].study)
    untrained = sum(run.spec.loss is None for run in runs)
    return f"{len(runs):,}" + f" ({untrained} untrained)" * bool(untrained)


FACTS: dict[str, Callable[[Plan, Protocol], str]] = {
    "data sets": _datasets,
    "splits": _splits,
    "networks": _network,
    "pooling": lambda loaded, rows: by_place(rows, lambda spec: spec.network.pooling),
    "embedding sizes": _sizes,
    "batch size": lambda loaded, rows: by_place(rows, lambda spec: str(spec.batch_size)),
    "batch composition": _sampling,
    "optimizer": _optimizer,
    "momentum or betas": _moments,
    "learning rate": lambda loaded, rows: by_place(
        rows, lambda spec: f"{spec.optimizer.learning_rate:g}"
    ),
    "learning rate schedule": _schedule,
    "learning rate factor of the head": lambda loaded, rows: by_place(
        rows, lambda spec: f"{spec.head_factor:g}"
    ),
    "weight decay": _decay,
    "gradient clipping": lambda loaded, rows: by_place(
        rows, lambda spec: f"by value at {spec.clip_value:g}" if spec.clip_value else "none"
    ),
    "frozen BatchNorm": lambda loaded, rows: by_place(
        rows,
        lambda spec: {"both": "statistics and parameters"}.get(
            spec.frozen_batchnorm, spec.frozen_batchnorm
        ),
    ),
    "warm-up epochs": lambda loaded, rows: by_place(rows, lambda spec: str(spec.warmup_epochs)),
    "epochs": _length,
    "early stopping": _end,
    "training transforms": _images("train"),
    "test transforms": _images("test"),
    "epoch selection": _selection,
    "metrics in tables": _scored,
    "combined folds": _together,
    "seeds": _seeds,
    "searches": _searches,
    "runs, including variants": _runs,
}


def by_place(rows: Protocol, fact: Callable[[Spec], str]) -> str:
    """A fact, or its values by data set, network, both or split, whichever determines it."""
    for place in (("dataset",), ("network",), ("dataset", "network"), ("split",)):
        found: dict[str, dict[str, None]] = {}
        where: dict[tuple, set[str]] = {}
        for row, spec in rows:
            key = tuple(getattr(row, column) for column in place)
            found.setdefault(fact(spec), {})[" with ".join(key)] = None
            where.setdefault(key, set()).add(fact(spec))
        if len(found) == 1:
            return next(iter(found))
        if all(len(values) == 1 for values in where.values()):
            return "; ".join(f"{text} ({', '.join(some)})" for text, some in found.items())
    raise ValueError(f"neither data set nor network nor split determines {sorted(found)}")


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _rule(name: str) -> str:
    """What a split rule does: the first line of the docstring of its file."""
    file = DOCS.parent / "workflow" / "scripts" / "dmlbench" / "data" / "splits" / f"{name}.py"
    return ast.get_docstring(ast.parse(file.read_text())).partition("\n")[0]


def _line(label: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([label, *cells])} |"


if __name__ == "__main__":
    write_marked(PAGE, "from_plan", tables())
