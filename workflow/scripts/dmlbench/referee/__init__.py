"""Embeddings and scores that were made elsewhere, judged: no workflow, no torch.

`embeddings` reads a matrix with its labels, `score` and `compare` judge one or two of them,
`results` a table of scores.
"""
