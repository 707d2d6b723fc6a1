"""Five studies of deep metric learning, reproduced in full and set beside their printed numbers."""
