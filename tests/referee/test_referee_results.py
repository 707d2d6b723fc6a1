"""Verdicts on a table of scores, against SciPy and plain loops."""

import itertools

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.referee.results import read_results, refereed
from scipy import stats

METHODS = ("contrastive", "triplet", "proxy")
HEADER = "method,data,split,seed,metric,value"


@pytest.fixture
def write(tmp_path):
    """Writes rows of (method, data, split, seed, value) as a file of scores."""

    def written(rows, *, metric="R@1", header=HEADER):
        lines = [f"{m},{d},{s},{k},{metric},{v}" for m, d, s, k, v in rows]
        (tmp_path / "results.csv").write_text("\n".join([header, *lines]) + "\n")
        return tmp_path / "results.csv"

    return written


def drawn(*, splits=("half",), seeds=5, data=("birds", "cars", "food"), gap=1.5, noise=1.0):
    generator = np.random.default_rng(7)
    return [
        (method, each, split, seed, round(60 + gap * place + noise * generator.normal(), 3))
        for each, (place, method), split, seed in itertools.product(
            data, enumerate(METHODS), splits, range(seeds)
        )
    ]


def values(rows, method, data):
    return np.array([row[4] for row in rows if row[:2] == (method, data)])


def table(found, name):
    return next(each for each in found.tables if each.id == name)


def cells(each, row, panel=""):
    wanted = next(own for own in each.rows if own.label == row and own.panel.startswith(panel))
    names = [column.name for column in each.columns]
    return dict(zip(names, (cell.value for cell in wanted.cells), strict=True))


def test_seeds_are_pairs_with_the_p_values_of_scipy_and_holm_by_hand(write):
    # Seeds that raise and lower all methods alike, so that pairs are compared.
    common = 5 * np.random.default_rng(1).normal(size=5)
    rows = [(m, d, s, k, v + common[k]) for m, d, s, k, v in drawn()]
    found = table(refereed(write(rows)), "differences")
    p_values = {}
    for data in ("birds", "cars", "food"):
        for first, other in itertools.combinations(METHODS, 2):
            test = stats.ttest_rel(values(rows, other, data), values(rows, first, data))
            p_values[data, f"{other} less {first}"] = test.pvalue
            interval = test.confidence_interval()
            shown = cells(found, f"{other} less {first}", data)
            assert (shown["low"], shown["high"]) == pytest.approx((interval.low, interval.high))
            assert shown["about"] == "seeds"
    corrected, largest = {}, 0.0
    for place, key in enumerate(sorted(p_values, key=p_values.get)):
        largest = max(largest, p_values[key] * (len(p_values) - place))
        corrected[key] = min(1.0, largest)
    for (data, label), p_value in corrected.items():
        assert cells(found, label, data)["holm"] == pytest.approx(p_value)


def test_methods_without_common_seeds_are_two_samples(write):
    rows = [(m, d, s, k + 10 * (m == "proxy"), v) for m, d, s, k, v in drawn()]
    found = table(refereed(write(rows), against="contrastive"), "differences")
    one, other = values(rows, "proxy", "cars"), values(rows, "contrastive", "cars")
    expected = stats.ttest_ind(one, other, equal_var=False)
    assert cells(found, "proxy less contrastive", "cars")["p"] == pytest.approx(expected.pvalue)
    assert len(found.rows) == 6


def test_splits_are_about_other_classes_and_seeds_are_averaged(write):
    """Nadeau and Bengio's error, by hand: with two methods nothing is shared between pairs."""
    rows = [row for row in drawn(splits=("h0", "h1", "h2", "h3"), seeds=2) if row[0] != "proxy"]
    found = table(refereed(write(rows)), "differences")
    for data in ("birds", "cars", "food"):
        one, other = (values(rows, m, data).reshape(4, 2).mean(1) for m in METHODS[:2])
        difference = other - one
        error = (difference.var(ddof=1) * (1 / 4 + 1)) ** 0.5
        shown = cells(found, "triplet less contrastive", data)
        half = stats.t.ppf(0.975, 3) * error
        assert shown["difference"] == pytest.approx(difference.mean())
        assert shown["high"] - shown["difference"] == pytest.approx(half)
        assert shown["about"] == "classes"


def test_seeds_are_refused_as_repeats_of_classes(write):
    path = write(drawn())
    with pytest.raises(UserError, match="seeds repeat the training, not the classes"):
        refereed(path, about="classes")
    refereed(path, about="seeds")
    as_splits = [(m, d, k, k, v) for m, d, _, k, v in drawn()]
    with pytest.raises(UserError, match="each split is a seed"):
        refereed(write(as_splits))
    assert "nothing is said of other classes" in refereed(write(drawn())).tables[1].to_markdown()


def test_seeds_are_no_experiments_of_ranks(write):
    """Ten seeds of one data set leave one experiment: no ranks, no Friedman test."""
    found = refereed(write(drawn(data=("birds",), seeds=10)))
    assert [each.id for each in found.tables] == ["scores", "differences"]


def test_ranks_are_those_of_scipy(write):
    rows = drawn(gap=5.0, data=tuple("abcdefghijkl"), seeds=2)
    found = table(refereed(write(rows)), "ranks_recall_at_1")
    means = np.array([[values(rows, m, d).mean() for d in "abcdefghijkl"] for m in METHODS])
    ranks = stats.rankdata(-means, axis=0).mean(axis=1)
    for method, rank in zip(METHODS, ranks, strict=True):
        assert cells(found, method)["average_rank"] == pytest.approx(rank)
    p_value = stats.friedmanchisquare(*means).pvalue
    assert f"p = {p_value:.3g}" in found.notes[0]
    # Demšar, table 5: q of three methods at 5 % is 2.343.
    assert f"{2.343 * (3 * 4 / (6 * 12)) ** 0.5:.2f}" in found.notes[0]


def test_the_sentence_says_what_is_shown_and_what_could_have_been_seen(write):
    shown = refereed(write(drawn(gap=9.0)), against="contrastive").sentence
    assert shown.startswith("6 of 6 differences in R@1 (Holm, other seeds, the same classes)")
    assert "and 3 more" in shown
    none = refereed(write(drawn(gap=0.0))).sentence
    assert none.startswith("None of 9 differences")
    assert "could have been seen" in none
    single = refereed(write(drawn(seeds=1))).sentence
    assert "nothing can be said" in single


def test_the_best_is_bold_and_latex_is_whole(write):
    scores = table(refereed(write(drawn(gap=9.0))), "scores")
    assert scores.to_markdown().count("**") == 2 + 2 * 3
    text = scores.to_latex()
    assert text.count(r"\textbf") == 3
    assert text.count("{") == text.count("}")


def test_fractions_and_percent_are_told_apart(write):
    percent = read_results(write(drawn()))
    fractions = read_results(write([(*row[:4], row[4] / 100) for row in drawn()]))
    np.testing.assert_allclose(percent["value"], fractions["value"])
    mixed = [(*row[:4], row[4] / (100 if row[3] else 1)) for row in drawn()]
    with pytest.raises(UserError, match="fractions or percent"):
        refereed(write(mixed))
    assert read_results(write(mixed), percent=True)["value"].max() < 0.7


def test_metrics_are_read_as_papers_write_them(write):
    for written, name in {
        "Recall@4": "recall_at_4",
        "MAP@R": "map_at_r",
        "nmi": "nmi",
        "accuracy": "accuracy",
    }.items():
        assert set(read_results(write(drawn(), metric=written))["metric"]) == {name}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method,value\na,1\n", "'metric'"),
        (f"{HEADER}\na,b,,0,R@1,x\n", "value 'x'"),
        (f"{HEADER}\na,b,,0,R@1,60\na,b,,0,R@1,61\n", "two values for method a, data b"),
        (f"{HEADER}\n,b,,0,R@1,60\n", "row 1 has no method"),
        (f"{HEADER}\na,b,,0,R@1,60\n", "one method, a"),
        (f"{HEADER}\na,b,,0,R@1,60\nc,d,,0,R@1,60\n", "no two methods"),
    ],
)
def test_wrong_tables_are_refused_in_one_line(tmp_path, text, words):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(UserError, match=words) as error:
        refereed(tmp_path / "r.csv")
    assert "\n" not in str(error.value)
