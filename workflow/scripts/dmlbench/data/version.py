"""The version of a data set's preparation: raised when the same files give another data set.

It covers index, packed pixels and roles; layouts, generators and split rules have their own
(`VERSION` in the part's file).
"""

# tests/golden compares what toy data sets become with what was recorded for this version.
VERSION = 1
