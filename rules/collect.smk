# Needs:  everything above
# Leaves: targets by name: <study>, <study>_table_<id>, <study>_figure_<id>, <study>_tournament,
#         <study>_claims, search_<search>, experiment_<experiment>, data_all; `audit`,
#         `agreement` and `claims` are in audit.smk, agreement.smk and claims.smk
#         An unknown target ends the call with the closest ones.

for study in PLAN.studies:

    rule:
        name:
            study
        input:
            [*pages.files(PLAN, study), made("report")],
        localrule: True

    rule:
        name:
            f"{study}_tournament"
        input:
            made("tournament", "csv", study=study),
        localrule: True

    for target, files in pages.targets(PLAN, study).items():

        rule:
            name:
                target
            input:
                files,
            localrule: True


for search in PLAN.searches:

    rule:
        name:
            f"search_{search}"
        input:
            searched(search),
        localrule: True


for experiment in PLAN.experiments:

    rule:
        name:
            f"experiment_{experiment}"
        input:
            INPUTS.experiments([experiment]),
        localrule: True


rule data_all:
    input:
        lambda wildcards: [made("index", data=PLAN.data(name).folder) for name in PLAN.datasets],
    localrule: True


# The user's folders, which are not targets.
OWN = "|".join(re.escape(each.folder) for each in PLAN.datasets.values() if each.folder)


# No file of the workflow has a path without a slash.
rule unknown_target:
    input:
        refused_target,
    output:
        f"{{target,(?!(?:{OWN})$)[A-Za-z0-9_-]+}}",
    localrule: True
