# Needs:  what training needs
# Leaves: <results>/searches/<search>/trials.parquet   one row per trial
#         <results>/searches/<search>/best.yaml        the values with the best validation score
#         Next to them, in state-<digest>: the journal that workers share, and locks.


rule search_worker:
    input:
        unpack(images_of),
        unpack(weights_of),
    output:
        "<results>/searches/{search}/workers/{worker}.yaml",
    log:
        "<results>/logs/search_worker/{search}-{worker}.log",
    benchmark:
        "<results>/costs/search_worker/{search}-{worker}.tsv"
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        **NEEDS.of("search_worker"),
    params:
        facts=lambda wildcards: searches.facts(PLAN, wildcards.search),
        folder=lambda wildcards: f"{RESULTS}/searches/{wildcards.search}",
        version=TRAINING_VERSION,
    script:
        "../workflow/scripts/search_worker.py"


rule search:
    input:
        workers=workers_of,
    output:
        trials="<results>/searches/{search}/trials.parquet",
        best="<results>/searches/{search}/best.yaml",
    log:
        "<results>/logs/search/{search}.log",
    benchmark:
        "<results>/costs/search/{search}.tsv"
    conda:
        ENVIRONMENT
    resources:
        **NEEDS.of("search"),
    params:
        facts=lambda wildcards: searches.facts(PLAN, wildcards.search),
        folder=lambda wildcards: f"{RESULTS}/searches/{wildcards.search}",
        source=stage_digest("search.py"),
    script:
        "../workflow/scripts/search.py"
