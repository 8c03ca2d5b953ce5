"""Apps, contexts and attempts, over a small stand-in for the store's reads."""
