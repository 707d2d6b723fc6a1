"""Which images train, validate and test, one rule per file.

A rule is called with an index and returns a DataFrame with the columns image_id, role and fold (one
row per image and fold; -1 without folds). Roles are 'train', 'validation' and 'test'; if queries
search other images, 'query' and 'gallery' instead of 'test'. Its attribute `open` says whether each
class must have a single role, query and gallery counting as one. A rule with folds has their number
as the constant FOLDS of its file, where the plan reads it.
"""
