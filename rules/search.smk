# Needs:  the inputs of training
# Leaves: <results>/searches/<search>/trials.parquet   one row per trial
#         <results>/searches/<search>/best.yaml        the values with the best validation score
#         <search> is its name with a digest of what it finds; the journal that workers share is in
#         <results>/searches/<name>/state-<digest>, the same for every budget.


rule search_worker:
    input:
        unpack(inputs_unless_finished("search_worker")),
    output:
        made("search_worker"),
    threads: searched_threads
    params:
        name=name_of_search,
        facts=search_facts,
        folder=search_state,
        threads=not_compared(searched_threads),
        code=code_of(modules_of_trials),
    script:
        "../workflow/scripts/search_worker.py"


rule search:
    input:
        unpack(inputs_of("search")),
    output:
        trials=made("search", "trials"),
        best=made("search", "best"),
    # Before other searches begin: a call that ends early leaves what its workers have found.
    priority: 1
    localrule: True
    params:
        name=name_of_search,
        facts=search_facts,
        folder=search_state,
        code=code_of(lambda wildcards: ["search/outcome"]),
    script:
        "../workflow/scripts/search.py"
