# Needs:  <results>/data/<data>/images.parquet
# Leaves: <results>/data/<data>/splits/<split>.parquet   role and fold of every image


rule split:
    input:
        index="<results>/data/{data}/images.parquet",
    output:
        "<results>/data/{data}/splits/{split}.parquet",
    log:
        "<results>/logs/split/{data}/{split}.log",
    benchmark:
        "<results>/costs/split/{data}/{split}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("split"),
    params:
        rule=lambda wildcards: identified("data/splits", split_rule(wildcards).model_dump()),
    script:
        "../workflow/scripts/split.py"
