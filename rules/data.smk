# Needs:  nothing, the archives' published addresses and mirrors, or a folder of the user's
# Leaves: <results>/data/raw/<dataset>/<archive> or <results>/data/drawn/<dataset>.zip
#         <results>/data/<dataset>/images.parquet                    the index
#         <results>/data/<dataset>/pixels-<size>-<mode>.{npy,parquet} the packed pixels
#         <results>/weights/<file>                                    published weights of a network


rule download:
    output:
        "<results>/data/raw/{dataset}/{archive}",
    log:
        "<results>/logs/download/{dataset}/{archive}.log",
    benchmark:
        "<results>/costs/download/{dataset}/{archive}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **NEEDS.of("download"),
    params:
        archive=archive_of,
        sources=sources_of_archive,
    script:
        "../workflow/scripts/download.py"


rule weights:
    output:
        "<results>/weights/{file}",
    log:
        "<results>/logs/weights/{file}.log",
    benchmark:
        "<results>/costs/weights/{file}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **NEEDS.of("weights"),
    params:
        weights=weights_of_file,
        sources=sources_of_weights,
    script:
        "../workflow/scripts/weights.py"


rule draw:
    output:
        "<results>/data/drawn/{dataset}.zip",
    log:
        "<results>/logs/draw/{dataset}.log",
    benchmark:
        "<results>/costs/draw/{dataset}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **NEEDS.of("draw"),
    params:
        generator=lambda wildcards: dataset_of(wildcards).generator.model_dump(),
        source=stage_digest("draw.py", rooms=("data/generators",)),
    script:
        "../workflow/scripts/draw.py"


rule index:
    input:
        archives=archives_of,
    output:
        "<results>/data/{dataset}/images.parquet",
    log:
        "<results>/logs/index/{dataset}.log",
    benchmark:
        "<results>/costs/index/{dataset}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **NEEDS.of("index"),
    params:
        layout=lambda wildcards: dataset_of(wildcards).layout.name,
        images=lambda wildcards: dataset_of(wildcards).images,
        classes=lambda wildcards: dataset_of(wildcards).classes,
        source=stage_digest("index.py", rooms=("data/layouts",)),
    script:
        "../workflow/scripts/index.py"


rule pack:
    input:
        index="<results>/data/{dataset}/images.parquet",
        archives=archives_of,
    output:
        pixels="<results>/data/{dataset}/pixels-{size}-{mode}.npy",
        table="<results>/data/{dataset}/pixels-{size}-{mode}.parquet",
    log:
        "<results>/logs/pack/{dataset}-{size}-{mode}.log",
    benchmark:
        "<results>/costs/pack/{dataset}-{size}-{mode}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        **NEEDS.of("pack"),
    params:
        source=stage_digest("pack.py"),
    script:
        "../workflow/scripts/pack.py"
