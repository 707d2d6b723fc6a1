"""A trained run on images of your own: embeddings, search, export."""
