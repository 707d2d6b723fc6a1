# Needs:  the results folder
# Leaves: nothing: prints the folders of results that no study uses any more, with their sizes;
#         with --config remove=true it removes them (target: unused)


rule unused:
    localrule: True
    params:
        folder=str(CONFIG),
        delete=PLAN.configuration.remove,
    script:
        "../workflow/scripts/unused.py"
