"""The terminal's summary of a synthetic study."""

from dmlbench.presentation.terminal import summary
from finished_study import make_study


def test_the_terminal_summary(study, tmp_path):
    text = summary(study, report="results/report.html", next_steps=["snakemake omniglot"])
    head, files = text.split("\ntable   ")
    assert head == (
        "Losses & <letters>\n"
        "==================\n"
        "\n"
        "Which loss?\n"
        "No significant difference between 3 losses in 2 experiments (Friedman test: p\n"
        "= 0.167, Kendall's W = 1.00; mean ranks 2.34 apart would be). ProxyAnchor has\n"
        "the best mean rank, 1.00, 20.00 points above Contrastive, which may be due to\n"
        "chance; with one seed only, another seed may change the order.\n"
        "\n"
        "Tournament by R@1 (test-selected), 2 experiments, 8 runs\n"
        "\n"
        "     loss         total  mean   std\n"
        "  1  ProxyAnchor      2  1.00  0.00\n"
        "  2  Contrastive      4  2.00  0.00\n"
        "  3  Triplet          6  3.00  0.00\n"
        "  No significant difference between methods (Friedman test, p = 0.167).\n"
        "  One seed: another seed may change the order.\n"
        "\n"
        "  percent, mean of 2 runs  ProxyAnchor, test-selected  last epoch  Untrained network\n"
        "  R@1                                           80.50       78.50              20.50\n"
    )
    assert files.splitlines() == [
        f"{study['tables'][0]['md']}",
        f"figure  {study['figures'][0]['png']}",
        f"scores  {study['scores']}",
        "report  results/report.html",
        "",
        "Next:",
        "  snakemake omniglot",
    ]


def test_the_terminal_marks_ties(tmp_path, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=[64])
    scores.loc[scores.method == "triplet", "value"] += 0.10
    folder = tmp_path / "results" / "demo"
    study = make_study(folder, scores, titles, methods, selection="last_epoch")
    lines = summary(study).splitlines()
    assert "Tournament by R@1 (last epoch), 1 experiment, 4 runs" in lines
    board = lines.index("     loss           total  mean  std")
    assert lines[board : board + 5] == [
        "     loss           total  mean  std",
        "  1  ProxyAnchor        1  1.00    -",
        "  2  Contrastive =    2.5  2.50    -",
        "  3  Triplet =        2.5  2.50    -",
        "  = shares a rank in some experiment",
    ]
