"""Which images train, validate and test, one rule a file.

A rule is called with an index and returns a DataFrame with the columns image_id, role and fold
(-1 where there are no folds; else a row an image and fold). Roles are 'train', 'validation' and
'test'; where queries are searched for among other images, 'query' and 'gallery' stand in the place
of 'test'. Its attribute `open` says whether no class may be trained on in one role and looked at
in another: query and gallery share their classes. A rule with folds has their number as the
constant FOLDS of its file, where the plan reads it.
"""
