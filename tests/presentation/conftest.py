"""A small study with scores computed by rule, so that every expected number is known."""

import copy
import re
import shutil
from pathlib import Path

import browser
import pandas as pd
import pytest
from dmlbench.statistics.aggregation import SCHEMA
from finished_study import make_study

METHODS = ["contrastive", "triplet", "proxy_anchor"]
TITLES = {
    "contrastive": "Contrastive",
    "triplet": "Triplet",
    "proxy_anchor": "ProxyAnchor",
    "untrained": "Untrained network",
}
R1 = {"contrastive": 0.60, "triplet": 0.50, "proxy_anchor": 0.80, "untrained": 0.20}


def make_scores(dims=(64, 128), seeds=(0,), **common) -> pd.DataFrame:
    """R@1 as in `R1`, 0.01 more per size and seed; R@2 0.1 higher; the last epoch 0.02 lower."""
    rows = []
    for method, value in R1.items():
        for place, dim in enumerate(dims):
            for seed in seeds:
                best = value + 0.01 * place + 0.01 * seed
                for selection, loss in (("best_test_epoch", 0.0), ("last_epoch", 0.02)):
                    for metric, gain in (("recall_at_1", 0.0), ("recall_at_2", 0.1)):
                        rows.append(
                            {
                                "run": f"glyphs/convnet/d{dim}/{method}/short/half/seed{seed}",
                                "dataset": "glyphs",
                                "network": "convnet",
                                "embedding_dim": dim,
                                "method": method,
                                "recipe": "short",
                                "variant": "",
                                "split": "half",
                                "fold": "",
                                "seed": seed,
                                "role": "test",
                                "selection": selection,
                                "metric": metric,
                                "value": best + gain - (loss if method != "untrained" else 0),
                            }
                            | common
                        )
    return pd.DataFrame(rows, columns=SCHEMA.names)


@pytest.fixture
def synthetic_scores():
    """`make_scores`: a long table of scores of four methods, sizes and seeds by argument."""
    return make_scores


@pytest.fixture
def titles():
    return dict(TITLES)


@pytest.fixture
def methods():
    return list(METHODS)


@pytest.fixture
def latex_problems():
    """Errors that keep a LaTeX table from compiling: braces, environments, cells of a row."""
    return _latex_problems


def _latex_problems(text: str) -> list[str]:
    bare = re.sub(r"\\\\.|\\[{}&%$#_]|%.*", "", text.replace("\\\\", "\n"))
    problems = [] if bare.count("{") == bare.count("}") else ["braces do not balance"]
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    if begun[:1] != ended[-1:] or begun[1:] != ended[:-1]:
        problems.append("environments do not nest")
    for part in text.split(r"\begin{tabular}")[1:]:
        columns = len(re.match(r"{([lcr]+)}", part)[1])
        for line in part.split(r"\end{tabular}")[0].splitlines():
            if line.endswith(r"\\"):
                cells = re.sub(r"\\&", "", line).count("&") + 1
                spans = [int(width) - 1 for width in re.findall(r"multicolumn{(\d+)}", line)]
                if cells + sum(spans) != columns:
                    problems.append(f"{cells + sum(spans)} of {columns} columns: {line}")
    return problems


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder and the description of a finished study, which `study` copies."""
    folder = tmp_path_factory.mktemp("finished") / "demo"
    return folder, make_study(folder, make_scores(), dict(TITLES), list(METHODS))


@pytest.fixture
def study(tmp_path, finished):
    """A finished study of the test's own, in `results/demo` of its folder."""
    folder, description = finished
    own = shutil.copytree(folder, tmp_path / "results" / "demo")
    return _moved(description, folder, own)


def _moved(part: object, folder: Path, own: Path) -> object:
    """A description of files in one folder as that of their copies in another."""
    if isinstance(part, dict):
        return {key: _moved(each, folder, own) for key, each in part.items()}
    if isinstance(part, list):
        return [_moved(each, folder, own) for each in part]
    if isinstance(part, Path) and part.is_relative_to(folder):
        return own / part.relative_to(folder)
    return copy.deepcopy(part)


@pytest.fixture(scope="module")
def invented_pages(tmp_path_factory):
    """A folder with the pages of `browser.invent_pages`."""
    folder = tmp_path_factory.mktemp("results")
    browser.invent_pages(folder)
    return folder


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium; made before the site, so that nothing is built where there is none."""
    with browser.headless() as started:
        yield started


@pytest.fixture
def opened(chromium, invented_pages):
    """Open a page of `invented_pages`, as `browser.opening` does."""
    with browser.opening(chromium, invented_pages) as open_page:
        yield open_page
