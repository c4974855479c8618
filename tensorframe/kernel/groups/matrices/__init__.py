"""Factorisations of stacks of matrices by work-groups: blocks of columns, alternating with updates of the rest."""
