"""A study of the user's own images: its files in a folder of the user's, from a folder of images.

`new_study` writes them, `heads_on_images` has the network and the recipe of heads on frozen
features, `new_loss` writes a loss, `forgotten` removes them again, and `templates` has their texts.
"""
