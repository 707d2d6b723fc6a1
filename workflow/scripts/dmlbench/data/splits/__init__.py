"""Which images train, validate and test, one rule a file.

A rule is called with an index and returns a DataFrame with the columns image_id, role ('train',
'validation' or 'test') and fold (-1 where there are no folds). Its attribute `open` says whether
no class may have two roles.
"""
