# Needs:  nothing, the archives' published addresses and mirrors, or a user's folder
# Leaves: <results>/data/raw/<dataset>/<archive> or <results>/data/drawn/<data>.zip
#         <results>/data/<data>/images.parquet                     the index
#         <results>/data/<data>/pixels-<size>-<mode>.{npy,parquet} the packed pixels
#         <results>/data/<data>/features-<features>.safetensors    pooled features of a frozen network
#         <results>/data/<data>/vectors.safetensors                features that were computed elsewhere
#         <data> is the data set's name with a digest of what determines its images
#         <results>/weights/<file>                                    published weights of a network


rule download:
    output:
        made("download"),
    localrule: True
    params:
        archive=lambda wildcards: archive_entry(wildcards).model_dump(exclude=SOURCES),
        sources=not_compared(lambda wildcards: archive_entry(wildcards).model_dump(include=SOURCES)),
    script:
        "../workflow/scripts/download.py"


rule weights:
    output:
        made("weights"),
    localrule: True
    params:
        weights=lambda wildcards: weights_entry(wildcards).model_dump(exclude=SOURCES),
        sources=not_compared(lambda wildcards: weights_entry(wildcards).model_dump(include=SOURCES)),
        backbone=not_compared(backbone_of_weights),
    script:
        "../workflow/scripts/weights.py"


rule draw:
    input:
        unpack(inputs_of("draw")),
    output:
        made("draw"),
    params:
        generator=lambda wildcards: data_entry(wildcards).generator.model_dump(),
        code=code_of(modules_of_drawing),
    script:
        "../workflow/scripts/draw.py"


rule index:
    input:
        unpack(inputs_of("index")),
    output:
        made("index"),
    params:
        layout=lambda wildcards: data_entry(wildcards).layout.name,
        expected=not_compared(expected_of),
        code=code_of(modules_of_index),
    script:
        "../workflow/scripts/index.py"


rule pack:
    input:
        unpack(inputs_of("pack")),
    output:
        pixels=made("pack", "pixels"),
        table=made("pack", "table"),
    threads: 4
    params:
        reduced_to=not_compared(reduced_to),
        code=code_of(lambda wildcards: ["data/pack"]),
    script:
        "../workflow/scripts/pack.py"


rule features:
    input:
        unpack(inputs_of("features")),
    output:
        made("features"),
    threads: threads_of_features
    params:
        network=network_of_features,
        threads=not_compared(threads_of_features),
        code=code_of(lambda wildcards: ["training/extraction"]),
    script:
        "../workflow/scripts/features.py"


rule vectors:
    input:
        unpack(inputs_of("vectors")),
    output:
        made("vectors"),
    localrule: True
    params:
        expected=not_compared(vectors_of),
        code=code_of(lambda wildcards: ["data/given"]),
    script:
        "../workflow/scripts/vectors.py"
