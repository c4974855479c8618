"""Algorithms of work-groups that are no loops over a region: products, sorting, searching, scattering."""
