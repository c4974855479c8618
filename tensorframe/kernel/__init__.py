"""Kernels: loops over typed scalar expressions, built from regions and printed by every dialect.

In layers, each of which imports those above it here, and none below; `tests/project/test_layering.py` has the table:

    ir/         the language; walk, formula, loops, order and machine_ops are its tools, interpret is what it means
    math/       exp, sin, erf and others as formulas over the language; complex/ those of complex numbers;
                scalars, any op on elements, and accumulate, how reductions combine them
    spaces/     the loops that ops share, and where in them elements are; rewriting, expand, complex and dot make
                regions of the same meaning, which keep their loops
    nest/       loops over memory: layout, stages, body; passes/ make the statements of a kernel better
    forms/      how passes over elements become loops on processors
    groups/     how they become loops of work-groups; algorithms/ products, sorting and the like
    build       a region becomes kernels

No module here knows a dialect, a device or NumPy's arrays.
"""
