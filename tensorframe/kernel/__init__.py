"""Kernels: loops over typed scalar expressions, built from regions and printed by every dialect."""
