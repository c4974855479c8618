"""`jit`: functions recorded once for each signature of their arguments, and replayed."""
