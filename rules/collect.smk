# Needs:  everything above
# Leaves: targets by name: <study>, <study>_table_<id>, <study>_figure_<id>, <study>_tournament,
#         search_<search>, data_all; `audit` is in audit.smk

for study in PLAN.studies:

    rule:
        name:
            study
        input:
            told([*pages.files(PLAN, study), "<results>/report.html"]),
        localrule: True

    rule:
        name:
            f"{study}_tournament"
        input:
            told(f"<results>/studies/{study}/tournament.csv"),
        localrule: True

    for target, files in pages.targets(PLAN, study).items():

        rule:
            name:
                target
            input:
                told(files),
            localrule: True


for search in PLAN.searches:

    rule:
        name:
            f"search_{search}"
        input:
            f"<results>/searches/{search}/best.yaml",
        localrule: True


rule data_all:
    input:
        [f"<results>/data/{dataset}/images.parquet" for dataset in PLAN.datasets],
    localrule: True
