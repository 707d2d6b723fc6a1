"""The schema of a study and of the document that it is compared with.

`studies` is a file of config/studies; `mapping`, `claims` and `margins` are the files of
config/reference: where a printed number finds our scores, what the document claims, and its
margins. `optima` are published best values of hyper-parameters.
"""
