"""Casting: which conversions of dtypes each of NumPy's five rules allows."""

from __future__ import annotations

from typing import Any, Final, Literal

from tensorframe import dtypes
from tensorframe.dtypes import FORMAT, DType
from tensorframe.errors import DTypeError
from tensorframe.frontend.parameters import choice

Casting = Literal["same_kind", "safe", "unsafe", "no", "equiv"]
CASTINGS: Final = ("same_kind", "safe", "unsafe", "no", "equiv")

# what rises keeps its values or only their precision
_KIND_RANK: Final = {"bool": 0, "unsigned": 1, "signed": 2, "float": 3, "complex": 4}


def same_kind(source: DType, target: DType) -> bool:
    """Whether `target` is of the kind of `source` or of one that holds it: NumPy's rule "same_kind"."""
    return _KIND_RANK[FORMAT[source].kind] <= _KIND_RANK[FORMAT[target].kind]


def castable(source: DType, target: DType, casting: str) -> bool:
    """Whether a rule allows to convert `source` to `target`."""
    if source == target or casting == "unsafe":
        return True
    if casting in ("no", "equiv"):
        return False
    return dtypes.promote(source, target) == target or (
        casting == "same_kind" and same_kind(source, target)
    )


def raise_unless_allowed(op: str, source: DType, target: DType, casting: Any) -> None:
    """Raise DTypeError unless a rule allows the conversion, ArgumentError if there is no such rule."""
    rule = choice(op, "casting", casting, CASTINGS)
    if not castable(source, target, rule):
        raise DTypeError(
            f"{op}: casting={rule!r} does not convert {source} to {target}",
            suggestions=('casting="unsafe"', f"x.astype(tfr.{target}) before"),
        )
