"""How the members of a data set's archives become rows of its index, one layout per file.

A layout is called with the archives and returns a DataFrame with the columns archive, member,
label (0, 1, ... in the layout's order of classes), class_name and subset.

A layout that reads nothing but images says so, `IMAGES_ONLY = True`: other files in a folder are
then not part of the data set.
"""
