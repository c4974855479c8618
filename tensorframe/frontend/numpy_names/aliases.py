"""Aliases: NumPy's older names of functions that the array standard calls otherwise."""

from __future__ import annotations

from tensorframe.frontend.elementwise.functions import FUNCTIONS
from tensorframe.frontend.reductions.elementary import max as amax
from tensorframe.frontend.reductions.elementary import min as amin

# NumPy's name: ours
ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_not": "bitwise_invert",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}

globals().update({name: FUNCTIONS[ours] for name, ours in ALIASES.items()})
__all__ = ["amax", "amin"]
__all__ += list(ALIASES)
