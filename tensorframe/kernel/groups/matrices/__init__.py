"""Factorisations of stacks of matrices by work-groups: blocks of columns, and what they leave of the rest, in turns."""
