# Needs:  index, split and pixels of the run's data set; the network's weights, if it has any;
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
        unpack(images_of),
        unpack(weights_of),
        unpack(best_of),
    output:
        spec="<results>/runs/{run}/spec.yaml",
        model="<results>/runs/{run}/model.safetensors",
        last="<results>/runs/{run}/last.safetensors",
        history="<results>/runs/{run}/history.parquet",
    log:
        "<results>/logs/train/{run}.log",
    benchmark:
        "<results>/costs/train/{run}.tsv"
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        **needs_of("train"),
    params:
        spec=lambda wildcards: spec_of(wildcards).known,
        prepared=f"{RESULTS}/runs/{{run}}/{PREPARED}",
        prepared_train=prepared_train,
    script:
        "../workflow/scripts/train.py"
