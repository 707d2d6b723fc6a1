# Needs:  the run's weights; index, split and pixels of its data set
# Leaves: <results>/runs/<run>/embeddings.parquet   of every image but the training ones,
#                                               by selected and last epoch


rule embed:
    input:
        unpack(images_of),
        model="<results>/runs/{run}/model.safetensors",
        last="<results>/runs/{run}/last.safetensors",
    output:
        "<results>/runs/{run}/embeddings.parquet",
    log:
        "<results>/logs/embed/{run}.log",
    benchmark:
        "<results>/costs/embed/{run}.tsv"
    # A run is scored before the next is trained, and its checkpoint removed.
    priority: 1
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        **NEEDS.of("embed"),
    params:
        spec=lambda wildcards: spec_of(wildcards).as_dict(),
        source=stage_digest("embed.py", rooms=("networks/backbones", "data/transforms")),
    script:
        "../workflow/scripts/embed.py"
