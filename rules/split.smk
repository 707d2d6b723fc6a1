# Needs:  <results>/data/<data>/images.parquet
# Leaves: <results>/data/<data>/splits/<split>.parquet   role and fold of every image


rule split:
    input:
        unpack(inputs_of("split")),
    output:
        made("split"),
    localrule: True
    params:
        rule=lambda wildcards: identified(
            "data/splits", PLAN.split_rule(wildcards.split).model_dump()
        ),
        code=code_of(modules_of_split),
    script:
        "../workflow/scripts/split.py"
