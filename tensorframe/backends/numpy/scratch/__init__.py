"""Scratch: the bytes that NumPy's programs take at most while they run, beside their operands and results.

Each kind of step says it of shapes and dtypes alone, as a plan knows them. Of NumPy's and LAPACK's own functions it was
measured what they copy (`tests/frontend/test_bound.py` does so again); that of our own programs follows from blocks.
"""
