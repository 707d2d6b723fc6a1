"""Ways of searching: one file each; a strategy proposes the next trial's values."""
