# Needs:  <results>/data/<dataset>/images.parquet
# Leaves: <results>/splits/<dataset>/<split>.parquet   role and fold of every image


rule split:
    input:
        index="<results>/data/{dataset}/images.parquet",
    output:
        "<results>/splits/{dataset}/{split}.parquet",
    log:
        "<results>/logs/split/{dataset}/{split}.log",
    benchmark:
        "<results>/costs/split/{dataset}/{split}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **NEEDS.of("split"),
    params:
        rule=lambda wildcards: dataset_of(wildcards).splits[wildcards.split].model_dump(),
        source=stage_digest("split.py", rooms=("data/splits",)),
    script:
        "../workflow/scripts/split.py"
