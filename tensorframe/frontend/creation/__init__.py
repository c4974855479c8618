"""New tensors: of one value, evenly spaced, triangular."""
