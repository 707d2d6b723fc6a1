# Needs:  the results folder
# Leaves: nothing: prints targets (target: help) and how far the studies are (target: status). Both
#         work while another call is running.

LOOKING = {"help", "status"}


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
    script:
        "../workflow/scripts/status.py"
