"""From the rows of the studies to the runs that are trained, each with its spec.

`config_folder` reads all files, `grids` lists rows, `resolution` makes the spec of each row,
`run` names its folder by the digest of the spec, `searches` say which specs are tuned, and `plan`
holds all of it. `data`, `frozen` and `combinations` are what several runs share.
"""
