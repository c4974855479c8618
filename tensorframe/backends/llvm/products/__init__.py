"""Products of matrices by compiled tiles, and what is done to their blocks, in the threads of kernels."""
