# Needs:  the inputs of training
# Leaves: <results>/searches/<search>/trials.parquet   one row per trial
#         <results>/searches/<search>/best.yaml        the values with the best validation score
#         <search> is its name with a digest of what it finds; the journal that workers share is in
#         <results>/searches/<name>/state-<digest>, the same for every budget.


rule search_worker:
    input:
        unpack(searched_images),
        unpack(searched_weights),
    output:
        "<results>/searches/{search}/workers/{worker}.yaml",
    log:
        "<results>/logs/search_worker/{search}-{worker}.log",
    benchmark:
        "<results>/costs/search_worker/{search}-{worker}.tsv"
    conda:
        ENVIRONMENT
    threads: lambda wildcards: PLAN.threads(searched_spec(wildcards))
    resources:
        **needs_of("search_worker"),
    params:
        name=name_of_search,
        facts=search_facts,
        folder=search_state,
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
        **needs_of("search"),
    params:
        name=name_of_search,
        facts=search_facts,
        folder=search_state,
    script:
        "../workflow/scripts/search.py"
