# Needs:  the run's weights; index, split and pixels of its data set
# Leaves: <results>/runs/<run>/embeddings.parquet   of every image except the training ones,
#                                               by selected and last epoch
#         <results>/runs/<run>/train_embeddings.parquet   of the training ones, on request


rule embed:
    input:
        unpack(images_of),
        spec="<results>/runs/{run}/spec.yaml",
        model="<results>/runs/{run}/model.safetensors",
        last="<results>/runs/{run}/last.safetensors",
    output:
        "<results>/runs/{run}/embeddings.parquet",
    log:
        "<results>/logs/embed/{run}.log",
    benchmark:
        "<results>/costs/embed/{run}.tsv"
    # A run is scored, and its checkpoint removed, before the next one is trained.
    priority: 1
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        **needs_of("embed"),
    params:
        prepared=f"{RESULTS}/runs/{{run}}/{PREPARED}",
        roles=None,
        source=code_of_embedding,
    script:
        "../workflow/scripts/embed.py"


# On request: few measures use the images that a network was trained on.
use rule embed as embed_train with:
    output:
        "<results>/runs/{run}/train_embeddings.parquet",
    log:
        "<results>/logs/embed_train/{run}.log",
    benchmark:
        "<results>/costs/embed_train/{run}.tsv"
    params:
        prepared=prepared_train,
        roles=["train"],
        source=code_of_embedding,
