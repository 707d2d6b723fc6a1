"""The version of a data set's preparation: raised when the same files give another data set.

It covers index, packed pixels and roles; layouts, generators and split rules have their own
(`VERSION` in the part's file).
"""

# A test compares the code with the digests recorded for this version in
# tests/training/sources.json, so that a change is either declared here or declared harmless.
VERSION = 1
