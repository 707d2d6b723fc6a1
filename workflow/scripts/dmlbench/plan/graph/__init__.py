"""What Snakemake's rules ask: the inputs of each job, by its wildcards.

`inputs` has a method for each rule, `index` the row of each run's folder. Paths are in
`dmlbench.plan.paths`.
"""
