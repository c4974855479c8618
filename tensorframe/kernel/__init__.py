"""Kernels: loops over typed scalar expressions, built from regions and printed by every dialect.

    build       a region becomes kernels, with what that takes beside it: layout, nest, stages, body, assemble
    ir          the language; walk, formula, machine and scalars are its tools, interpret is what it means
    spaces/     the loops that ops share, and where in them elements are
    forms/      how passes over elements become loops on processors
    groups/     how they become loops of work-groups
    passes/     what makes the statements of a kernel better
    algorithms/ products, sorting and the like, for work-groups
    math/       exp, sin, erf and others as formulas over the language; complex_math/ those of complex numbers

No module here knows a dialect, a device or NumPy's arrays.
"""
