"""Five studies of deep metric learning, reproduced in full and next to their printed numbers."""
