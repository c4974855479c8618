"""Spaces: the loops that the ops of a region share, and where in them each element is."""
