"""New tensors: from other values, of one value, evenly spaced, triangular."""
