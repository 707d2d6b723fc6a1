"""What finished files were made from, and whether that still holds.

`stale` compares the records of files with what would be made now, and `snakemake_parts` lets
Snakemake run what is stale; `verify` reports it, `unused` lists what no study needs any more, and
`published` packs finished searches.
"""
