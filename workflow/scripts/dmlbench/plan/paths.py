"""Every path below the results folder: what each rule writes. docs/files.md says what is in it.

Words in braces are Snakemake's wildcards, so that the same text is the pattern of a rule and, with
values, a file.

>>> made("evaluate", "scores", run="a/b")
'runs/a/b/scores.parquet'
"""

from typing import NamedTuple


class Rule(NamedTuple):
    """What a rule's jobs write.

    Attributes:
        job: names a job in the folders of logs and of benchmark files.
        files: name of an output -> its path; a single output needs no name. Jobs write all or none
            of them, so the first one tells whether a job is done.
    """

    job: str
    files: dict[str, str]


def _formats(stem: str, *suffixes: str) -> dict[str, str]:
    return {suffix: f"{stem}.{suffix}" for suffix in suffixes}


DATA, RUN, COMBINED = "data/{data}", "runs/{run}", "combined/{combination}"
SEARCH, EXPERIMENT, STUDY = "searches/{search}", "experiments/{experiment}", "studies/{study}"
"""The folders of results."""

RAW, DRAWN = "data/raw", "data/drawn"
PREPARED, PREPARED_TRAIN = f"{RUN}/.embeddings.parquet", f"{RUN}/.train_embeddings.parquet"
"""Embeddings that a training leaves for the rules embed and embed_train to take."""
INDEX_OF_RUNS, CHECKED, RENDERED = "plan.json", ".checked", ".rendered"
"""The row of each run's folder, for the jobs of a call; what earlier calls have checked."""
LOGS, COSTS = "logs", "costs"
PACKED = f"{DATA}/pixels-{{size}}-{{mode}}"

RULES = {
    "download": Rule("download/{dataset}/{archive}", {"": f"{RAW}/{{dataset}}/{{archive}}"}),
    "weights": Rule("weights/{file}", {"": "weights/{file}"}),
    "draw": Rule("draw/{data}", {"": f"{DRAWN}/{{data}}.zip"}),
    "index": Rule("index/{data}", {"": f"{DATA}/images.parquet"}),
    "pack": Rule(
        "pack/{data}-{size}-{mode}", {"pixels": f"{PACKED}.npy", "table": f"{PACKED}.parquet"}
    ),
    "features": Rule(
        "features/{data}-{features}", {"": f"{DATA}/features-{{features}}.safetensors"}
    ),
    "vectors": Rule("vectors/{data}", {"": f"{DATA}/vectors.safetensors"}),
    "split": Rule("split/{data}/{split}", {"": f"{DATA}/splits/{{split}}.parquet"}),
    "train": Rule(
        "train/{run}",
        {
            "model": f"{RUN}/model.safetensors",
            "last": f"{RUN}/last.safetensors",
            "history": f"{RUN}/history.parquet",
            "spec": f"{RUN}/spec.yaml",
        },
    ),
    "embed": Rule("embed/{run}", {"": f"{RUN}/embeddings.parquet"}),
    "embed_train": Rule("embed_train/{run}", {"": f"{RUN}/train_embeddings.parquet"}),
    "evaluate": Rule(
        "evaluate/{run}",
        {"scores": f"{RUN}/scores.parquet", "queries": f"{RUN}/queries.parquet"},
    ),
    "measure": Rule(
        "measure/{run}/{measure}",
        {
            "scores": f"{RUN}/measures/{{measure}}.parquet",
            "arrays": f"{RUN}/measures/{{measure}}.npz",
        },
    ),
    "combine": Rule("combine/{combination}/{form}", {"": f"{COMBINED}/{{form}}.parquet"}),
    "search_worker": Rule(
        "search_worker/{search}-{worker}", {"": f"{SEARCH}/workers/{{worker}}.yaml"}
    ),
    "search": Rule(
        "search/{search}", {"best": f"{SEARCH}/best.yaml", "trials": f"{SEARCH}/trials.parquet"}
    ),
    "experiment": Rule(
        "experiment/{experiment}/seed{seed}",
        {
            "table": f"{EXPERIMENT}/seed{{seed}}.parquet",
            "arrays": f"{EXPERIMENT}/seed{{seed}}.npz",
        },
    ),
    "aggregate": Rule(
        "aggregate/{study}",
        {
            "scores": f"{STUDY}/scores.parquet",
            "classes": f"{STUDY}/classes.parquet",
            "runs": f"{STUDY}/runs.csv",
        },
    ),
    "timings": Rule("timings/{study}", {"": f"{STUDY}/timings.csv"}),
    "tournament": Rule("tournament/{study}", _formats(f"{STUDY}/tournament", "csv", "parquet")),
    "table": Rule(
        "table/{study}/{table}", _formats(f"{STUDY}/tables/{{table}}", "csv", "md", "tex", "html")
    ),
    "figure": Rule(
        "figure/{study}/{figure}", _formats(f"{STUDY}/figures/{{figure}}", "png", "svg", "pdf")
    ),
    "embedding_map": Rule(
        "embedding_map/{study}/{map}", _formats(f"{STUDY}/figures/map_{{map}}", "png", "svg", "pdf")
    ),
    "neighbors": Rule("neighbors/{study}", {"": f"{STUDY}/neighbors"}),
    "run_browser": Rule("run_browser/{study}", {"": f"{STUDY}/runs.html"}),
    "document": Rule("document/{study}", {"": f"{STUDY}/study.tex"}),
    "audit_document": Rule("audit/{study}", _formats("audit/{study}", "csv", "md")),
    "audit_all": Rule("audit/all", _formats("audit/all", "csv", "md")),
    "audit": Rule("audit/counts", {}),
    "agreement_document": Rule("agreement/{study}", {"": "agreement/{study}.csv"}),
    "agreement_all": Rule("agreement/all", _formats("agreement", "csv", "md")),
    "agreement": Rule("agreement/counts", {}),
    "claims": Rule("claims/counts", {}),
    "claims_document": Rule("claims/{study}", {"": "claims/{study}.csv"}),
    "claims_all": Rule("claims/all", _formats("claims", "csv", "md")),
    "certificate": Rule("certificate/{study}", _formats("certificates/{study}", "md", "csv")),
    "report": Rule("report", {"": "report.html"}),
    "help": Rule("help", {}),
    "status": Rule("status", {}),
    "verify": Rule("verify", {}),
    "unused": Rule("unused", {}),
}


def outputs(rule: str) -> dict[str, str]:
    """The outputs of a rule, with wildcards."""
    return RULES[rule].files


class Made(str):
    """An output of a job.

    Attributes:
        rule, wildcards: the job.
    """

    rule: str
    wildcards: dict[str, str | int]

    def below(self, folder: str) -> "Made":
        """The same below a folder."""
        return _made(f"{folder}/{self}", self.rule, self.wildcards)


class InRepository(str):
    """A file of the repository, which no job makes."""

    def below(self, folder: str) -> "InRepository":
        """Itself: it is not below the results."""
        return self


def made(rule: str, output: str = "", **wildcards: str | int) -> Made:
    """An output of a job; without wildcards, its pattern in the rule."""
    path = RULES[rule].files[output]
    return _made(path.format(**wildcards) if wildcards else path, rule, wildcards)


def _made(path: str, rule: str, wildcards: dict[str, str | int]) -> Made:
    file = Made(path)
    file.rule, file.wildcards = rule, wildcards
    return file


def first(rule: str, **wildcards: str | int) -> Made:
    """The output of a job that tells whether it is done."""
    return made(rule, next(iter(RULES[rule].files)), **wildcards)


def job(rule: str, **wildcards: str | int) -> str:
    """The name of a job: the folder of its rule's logs, and its own."""
    return RULES[rule].job.format(**wildcards) if wildcards else RULES[rule].job


def log(rule: str, **wildcards: str | int) -> str:
    """The log of a job."""
    return f"{LOGS}/{job(rule, **wildcards)}.log"


def cost(rule: str, **wildcards: str | int) -> str:
    """Snakemake's benchmark of a job."""
    return f"{COSTS}/{job(rule, **wildcards)}.tsv"
