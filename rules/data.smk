# Needs:  nothing, the archives' published addresses and mirrors, or a user's folder
# Leaves: <results>/data/raw/<dataset>/<archive> or <results>/data/drawn/<data>.zip
#         <results>/data/<data>/images.parquet                     the index
#         <results>/data/<data>/pixels-<size>-<mode>.{npy,parquet} the packed pixels
#         <data> is the data set's name with a digest of what determines its images
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
        **needs_of("download"),
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
        **needs_of("weights"),
    params:
        weights=weights_of_file,
        sources=sources_of_weights,
    script:
        "../workflow/scripts/weights.py"


rule draw:
    output:
        "<results>/data/drawn/{data}.zip",
    log:
        "<results>/logs/draw/{data}.log",
    benchmark:
        "<results>/costs/draw/{data}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("draw"),
    params:
        generator=lambda wildcards: data_entry(wildcards).entry.generator.model_dump(),
    script:
        "../workflow/scripts/draw.py"


rule index:
    input:
        archives=archives_of,
    output:
        "<results>/data/{data}/images.parquet",
    log:
        "<results>/logs/index/{data}.log",
    benchmark:
        "<results>/costs/index/{data}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **needs_of("index"),
    params:
        layout=lambda wildcards: data_entry(wildcards).entry.layout.name,
        counts=counts_of,
    script:
        "../workflow/scripts/index.py"


rule pack:
    input:
        index="<results>/data/{data}/images.parquet",
        archives=archives_of,
    output:
        pixels="<results>/data/{data}/pixels-{size}-{mode}.npy",
        table="<results>/data/{data}/pixels-{size}-{mode}.parquet",
    log:
        "<results>/logs/pack/{data}-{size}-{mode}.log",
    benchmark:
        "<results>/costs/pack/{data}-{size}-{mode}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        **needs_of("pack"),
    script:
        "../workflow/scripts/pack.py"
