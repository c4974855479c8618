"""Transformations of recorded graphs: gradients, batching. What programs call is in `frontend/transformations/`."""
