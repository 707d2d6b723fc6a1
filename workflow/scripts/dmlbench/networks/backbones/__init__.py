"""Convolutional trunks: images to feature maps, one file each."""
