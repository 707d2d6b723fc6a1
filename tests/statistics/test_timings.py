"""What the runs of a study cost, from Snakemake's benchmark files."""

from dmlbench.statistics.timings import timings


def test_timings_by_run_and_stage(tmp_path):
    train, embed = tmp_path / "train.tsv", tmp_path / "embed.tsv"
    train.write_text("s\th:m:s\tmax_rss\tmax_vms\n10.0\t0:00:10\t100.5\t9\n20.0\t0:00:20\t90\t9\n")
    embed.write_text("s\th:m:s\tmax_rss\tmax_vms\n0.125\t0:00:00\t-\t-\n")
    files = {"run/a": {"train": train, "embed": embed, "evaluate": tmp_path / "none.tsv"}}
    timings(files, tmp_path / "timings.csv")
    assert (tmp_path / "timings.csv").read_text() == (
        "run,stage,seconds,max_rss_mb\n"
        "run/a,train,15.0,100.5\n"
        "run/a,embed,0.12,\n"
        "run/a,evaluate,,\n"
    )
