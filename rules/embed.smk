# Needs:  the run's weights; index, split and pixels of its data set, or features of a frozen network
# Leaves: <results>/runs/<run>/embeddings.parquet   of every image except the training ones,
#                                               by selected and last epoch
#         <results>/runs/<run>/train_embeddings.parquet   of the training ones, on request


rule embed:
    input:
        unpack(inputs_of("embed")),
    output:
        made("embed"),
    # A run is scored, and its checkpoint removed, before the next one is trained.
    priority: 1
    threads: threads_of
    params:
        prepared=f"{RESULTS}/{paths.PREPARED}",
        roles=None,
        source=code_of_embedding,
        threads=not_compared(threads_of),
    script:
        "../workflow/scripts/embed.py"


# On request: few measures use the images that a network was trained on.
use rule embed as embed_train with:
    output:
        made("embed_train"),
    params:
        prepared=not_compared(prepared_train),
        roles=["train"],
        source=code_of_embedding,
        threads=not_compared(threads_of),
