"""Users' kernels as whole texts: the signature, the indices and the words for dtypes around a body."""
