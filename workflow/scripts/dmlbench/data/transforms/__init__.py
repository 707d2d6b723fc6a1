"""Image transforms on batches, on the device of the images, one a file."""
