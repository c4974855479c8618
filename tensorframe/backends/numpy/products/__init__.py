"""Products of matrices by NumPy: in blocks, with what is done to these while they are in the cache."""
