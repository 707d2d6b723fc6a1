"""The views of a study: which rows each table and figure shows; checks before a job starts.

`views` gives each view its rows and facts, `pages` the files and targets of a finished study.
What can go wrong is checked before a job starts: `study_checks`, `search_checks`, `view_checks`,
`targets`, and `dry_render`, which makes each view from made-up scores.
"""
