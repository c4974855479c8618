"""Transformations of recorded graphs: gradients. What programs call stands in `frontend/transformations/`."""
