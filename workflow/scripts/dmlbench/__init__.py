"""Five studies of deep metric learning, reproduced in full and set next to their printed numbers."""
