"""Machine ops: what every dialect has to spell, on which dtypes, and what is easily got wrong about it.

`interpret.FUNCTIONS` says what they mean in NumPy. Everything else that kernels compute is written in these, by the
formulas of `kernel/math`. Dialects of devices without float64 spell `pair`, `high` and `low` besides: of two floats, a
pair of them, and each of those (`kernel/math/pairs.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.dtypes import BOOL, INTEGER, DType, float32, float64, uint32

# the floating dtypes that arithmetic knows; half precision is converted before and after
WIDE = frozenset({float32, float64})
NUMBERS = INTEGER | WIDE

# Ops on pairs of float32 (kernel/math/pairs.py): those languages alone have them whose devices may lack float64.
PAIR_OPS: frozenset[str] = frozenset({"pair", "high", "low"})

# op -> the dtypes of its operands (of the last ones, where the first is a condition)
MACHINE_OPS: Mapping[str, frozenset[DType]] = {
    # integers wrap
    "add": NUMBERS,
    "subtract": NUMBERS,
    "multiply": NUMBERS,
    # the upper half of the product, which has twice the bits
    "multiply_high": frozenset({uint32}),
    # the sum of the products of four signed bytes, of words that hold these from their lowest bits on: an int32, exact
    "dot4": frozenset({uint32}),
    "negative": NUMBERS,
    "abs": NUMBERS,
    # steps of a sum or product: floats join a variable in the order of kernel/ir/order.py where a thread works alone,
    # and in that of the statements in work-groups, where a dialect may also round a product with the sum that takes it
    "accumulate_add": NUMBERS,
    "accumulate_multiply": NUMBERS,
    # rounded once, never contracted unless written as fma
    "divide": WIDE,
    "fma": WIDE,
    "sqrt": WIDE,
    "floor": WIDE,
    "ceil": WIDE,
    "trunc": WIDE,
    "round": WIDE,  # halves to even
    "copysign": WIDE,
    # rounded down, with the divisor's sign; 0 where the divisor is 0, and what is out of range wraps: nothing traps
    "floor_divide": INTEGER,
    "remainder": INTEGER,
    # NaN if either is NaN
    "maximum": NUMBERS,
    "minimum": NUMBERS,
    # false for NaN, but `not_equal` is true
    "equal": BOOL | NUMBERS,
    "not_equal": BOOL | NUMBERS,
    "less": NUMBERS,
    "less_equal": NUMBERS,
    "greater": NUMBERS,
    "greater_equal": NUMBERS,
    "logical_and": BOOL,
    "logical_or": BOOL,
    "logical_not": BOOL,
    "bitwise_and": INTEGER,
    "bitwise_or": INTEGER,
    "bitwise_xor": INTEGER,
    "bitwise_invert": INTEGER,
    # by the width or more, or by a negative number: 0, and for negative integers to the right -1
    "bitwise_left_shift": INTEGER,
    "bitwise_right_shift": INTEGER,
    # a condition and two values, both of which may be computed
    "where": BOOL | NUMBERS,
    "where_rare": BOOL | NUMBERS,
    # to any dtype, half precision too; a float beyond the range of an integer gives some number
    "cast": BOOL | NUMBERS,
    # casts from elements to positions and back, which a dialect may hold in fewer bits: see nest/passes/positions.py
    "to_index": INTEGER,
    "from_index": INTEGER,
    # between integers and floats of one size
    "bitcast": NUMBERS,
}
