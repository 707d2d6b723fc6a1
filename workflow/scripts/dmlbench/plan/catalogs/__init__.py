"""What can be named in the configuration: data sets, networks, recipes, methods and variants.

Each module is the schema of one kind of file or entry that a person writes in `config/`, or a
word that all of them share: `choices` (parts by name), `places` (`loss.margin`), `where` (filters
of rows), `rows` (what a study lists), `identity` and `naming` (what digests contain). `read`
reads YAML and says in one line what is wrong; `slurm` says what a cluster has. Nothing here has
seen a study.
"""
