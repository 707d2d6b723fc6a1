"""Networks: a backbone, its pooling and the embedding layer on top."""
