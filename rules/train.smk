# Needs:  index, split and pixels of the run's data set, and the network's weights, if it has any;
#         of a frozen network its features instead;
#         the best values of a search, if the run uses them
# Leaves: <results>/runs/<run>/spec.yaml           everything that can change the result
#         <results>/runs/<run>/model.safetensors   the selected epoch's weights
#         <results>/runs/<run>/last.safetensors    the last epoch's weights
#         <results>/runs/<run>/history.parquet     one row per epoch
#         In addition, but not as outputs: a checkpoint until the run is scored, so that a retry
#         resumes; embeddings for the next rules; the outputs under a second name, so that none is
#         lost.


rule train:
    input:
        unpack(inputs_of("train")),
    output:
        spec=made("train", "spec"),
        model=made("train", "model"),
        last=made("train", "last"),
        history=made("train", "history"),
    threads: lambda wildcards: PROCESSES["train"](wildcards) * threads_of(wildcards)
    params:
        spec=lambda wildcards: run_of(wildcards).spec.known,
        prepared=f"{RESULTS}/{paths.PREPARED}",
        prepared_train=not_compared(prepared_train),
        threads=not_compared(threads_of),
        code=code_of(modules_of_training),
    script:
        "../workflow/scripts/train.py"
