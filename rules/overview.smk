# Needs:  the results folder
# Leaves: nothing: prints targets (target: help), how far the studies are (target: status, of one of them
#         <study>_status) and whether their files are what they should be (target: verify). All work while
#         another call is running.


rule help:
    localrule: True
    params:
        folder=str(CONFIG),
        gpu=lambda wildcards: on_a_gpu(),
    script:
        "../workflow/scripts/help.py"


rule status:
    localrule: True
    params:
        folder=str(CONFIG),
        gpu=lambda wildcards: on_a_gpu(),
        only=None,
    script:
        "../workflow/scripts/status.py"


for study in PLAN.studies:

    rule:
        name:
            f"{study}_status"
        log:
            f"{LOGS_OF_LOOKS}/{paths.log('status')}",
        localrule: True
        conda:
            ENVIRONMENT
        params:
            folder=str(CONFIG),
            gpu=lambda wildcards: on_a_gpu(),
            only=study,
        script:
            "../workflow/scripts/status.py"


rule verify:
    localrule: True
    params:
        folder=str(CONFIG),
        sources=sources_of_rules,
    script:
        "../workflow/scripts/verify.py"
