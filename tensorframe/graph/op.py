"""Op rows: everything there is to say about an op, as one immutable record whose properties passes query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple

DTypeRule = Callable[..., DType]
ShapeRule = Callable[..., Shape]
# (shapes and first dtype of the operands, attributes) -> the shape and dtype of each result
ResultsRule = Callable[..., tuple[tuple[Shape, DType], ...]]


class Kind(Enum):
    """What passes may do with an op.

    Maps fuse with their neighbours, views move indices, formulas are written out first, and what is
    opaque is a library call.
    """

    SOURCE = auto()  # no inputs: constants, stored data, arange, full
    MAP = auto()  # one result element from the elements at the same (broadcast) position
    REDUCE = auto()  # combines elements along axes
    SCAN = auto()  # combines all elements up to a position, along an axis
    VIEW = auto()  # the same elements at other positions: an index map
    CONTRACT = auto()  # products summed over shared axes
    GATHER = auto()  # elements selected by an index tensor
    SCATTER = auto()  # elements replaced at selected positions, or combined with others
    LIBRARY = auto()  # an opaque call: sort, fft, decompositions
    FORMULA = auto()  # rows of several kinds together, in which it is written out before all else
    TRANSFER = auto()  # the same values on another device

    # members are one object each: enum's own hashes their names, in Python, and planning a node looks up some ten
    __hash__ = object.__hash__


def same(dtype: DType, *_: Any) -> DType:
    """Result dtype rule: that of the (promoted) operands."""
    return dtype


def boolean(*_: Any) -> DType:
    """Result dtype rule: bool."""
    return dtypes.bool_


def real_part(dtype: DType, *_: Any) -> DType:
    """Result dtype rule: the dtype of the real part of the operands."""
    return dtypes.real_of(dtype)


class Combination(NamedTuple):
    """How a reduction, a scan, or a scatter that combines, makes one element of many.

    Elements, or what `take` makes of each, are combined two at a time by the row `join`, in any order unless each step
    of a scan has a result; `finish` makes the result of them all. `take` and `finish` are formulas over terms.
    """

    join: Op  # a ufunc of NumPy's
    first: Callable[[DType], complex]  # which leaves any element, after `take`, as it is
    take: Callable[[Any], Any] | None = None
    finish: Callable[[Any], Any] | None = None
    wide: bool = False  # floating-point elements are combined in the widest dtype that there is
    final: bool | None = None  # a truth value that no element changes any more


class Precision(Enum):
    """Which operands a row takes inside `autocast`; a row that says nothing takes what it is given."""

    LOW = auto()  # half precision: what is nothing but products and sums of them, accumulated wide
    FULL = auto()  # float32 at least: what would overflow, or lose digits that are needed later


LOW, FULL = Precision


# arithmetic that takes bools as the smallest integers, as in NumPy
_COUNTING: Final = frozenset({"square", "conj", "pow", "floor_divide", "remainder", "fmod"})


@dataclass(frozen=True, slots=True)
class NoGradient:
    """Why a row has no rule for gradients: nothing flows through it, or (`refused`) asking for it is an error."""

    reason: str
    refused: bool = False


NONE = NoGradient("its result is no floating-point value, or depends on none")
ZERO = NoGradient("its result is constant between jumps: the derivative is zero almost everywhere")


def refused(reason: str) -> NoGradient:
    """Return the marker of a row that gradients do not pass; `reason` ends the sentence "has no gradient: ..."."""
    return NoGradient(reason, refused=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Op:
    """One row.

    `accepts` are the dtypes of the operands after promotion; integers given to an op that takes floating operands
    only are cast to the default real dtype. `attributes` names the values in `Node.attrs`, in order. `expand`
    gives the meaning of a row in terms of other rows, from operands and attributes; a row without it is a core op
    that each dialect spells. `numpy` is the name of NumPy's function where it differs.

    `vjp` is the vector-Jacobian product, written over terms as `expand` is: `(ct, out, *operands, *attrs)` gives, for
    each operand, its cotangent, None where there is none, or a function without arguments that makes it, called only
    where it is wanted. `ct` has the shape and dtype of `out`; what a rule gives may be broadcast, or complex where the
    operand is real: whoever walks sums it, and takes the real part. Derivatives of complex functions are conjugated. A
    row of several `parts` gets a tuple with a cotangent, or None, for each. A row with `expand` and no `vjp` is written
    out and differentiated; any other says why it has no rule.
    """

    name: str
    kind: Kind
    arity: int | None
    accepts: frozenset[DType]
    result: DTypeRule
    doc: str
    shape: ShapeRule | None = None
    attributes: tuple[str, ...] = ()
    expand: Callable[..., Any] | None = None
    numpy: str | None = None
    operator: str | None = None  # the name of Python's operator method, without underscores
    in_standard: bool = True  # named by the Array API standard
    public: bool = True  # an elementwise row has a function of its name
    conditions: int = 0  # how many leading operands are bool conditions outside promotion
    commutative: bool = False
    identity: float | None = None  # e where op(x, e) is x exactly, signed zeros included
    right_identity: float | None = None  # the same where only the right operand may be e
    whole: bool = (
        False  # a row with `expand` that some devices compute as it is: see `Capabilities.whole`
    )
    involution: bool = False  # op(op(x)) is x
    odd: bool = False  # negating any real operand negates the result, to the bit
    # on host memory the result shares the operand's bytes, as far as strides can say it
    alias: bool = False
    barrier: bool = False  # runs by itself, after all of its operands: never part of a kernel
    costly: bool = False  # worth keeping when the user still holds the result
    combination: Combination | None = None  # of a reduction, a scan, or a scatter that combines
    parts: int = 1  # how many tensors one call gives
    results: ResultsRule | None = (
        None  # what each of them is: a library makes those that nobody takes, too
    )
    # dtypes of operands on which every engine gives the same bits: see ops/exactness.py
    exact: frozenset[DType] = dtypes.BITWISE
    precision: Precision | None = None
    # a user's function: operands keep dtypes of their own, and plans print its name
    user_defined: bool = False
    vjp: Callable[..., Sequence[Any]] | NoGradient | None = None
    # machine code of such a function that reads values, see ops/user.py
    compiled: Any = None
    # texts that some devices compute it by, in place of `expand`: see ops/printed.py
    printed: Any = None
    # the sources of a kernel of the user's, and what their names mean: see ops/raw_kernels.py
    raw: Any = None
    double: bool = False  # computed in float64, whatever the operands are
    # operand (a tuple, of several) -> result: examples and tests
    at: Mapping[Any, Any] = field(default_factory=dict)
    cost: float = 1.0  # floating-point operations per result element, for estimates
    resolved: dict[tuple[DType, ...], tuple[DType, DType]] = field(default_factory=dict)
    # dtype that all operands have, and that is computed in -> dtype of the result: what recording looks up first
    uniform: dict[DType, DType] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.raw is not None:  # which no table has
            return (self.raw.row_elsewhere, ())
        return (find, (self.name,))

    def resolve(self, operands: tuple[DType, ...]) -> tuple[DType, DType]:
        """Return (dtype the operands are cast to, dtype of the result) of a MAP row; DTypeError if it takes neither."""
        resolved = self.resolved.get(operands)
        if resolved is None:
            promoted = dtypes.promote(*operands)
            if promoted in self.accepts:
                resolved = self.resolved[operands] = (promoted, self.result(promoted))
                if all(operand is promoted for operand in operands):
                    self.uniform[promoted] = resolved[1]
            elif promoted in dtypes.BOOL and self.name in _COUNTING:
                resolved = self.resolved[operands] = (dtypes.int8, self.result(dtypes.int8))
            elif promoted in dtypes.BITWISE and self.accepts.isdisjoint(dtypes.INTEGER):
                # not remembered: the default dtype may change
                return dtypes.default_float(), self.result(dtypes.default_float())
            else:
                raise dtype_error(self, operands)
        return resolved


def dtype_error(op: Op, operands: tuple[DType, ...]) -> DTypeError:
    """Return the error for operands that `op` is not defined for."""
    got = ", ".join(dtype.name for dtype in operands)
    wanted = dtypes.category_name(op.accepts)
    hint = "x.astype(...) to one of these dtypes first"
    return DTypeError(f"{op.name}: takes {wanted} dtypes, got {got}", suggestions=(hint,))


_ROWS: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Add a row to the table; every name is defined once.

    Where an import was interrupted its module is run anew: rows come again, as they are, and take the place of those
    that refer to the module that was not finished.
    """
    earlier = _ROWS.get(op.name)
    if earlier is not None and earlier.doc != op.doc:
        raise ValueError(f"op {op.name!r} is defined twice")
    if op.kind is not Kind.MAP and op.shape is None and op.arity != 0:
        raise ValueError(f"op {op.name!r} has no shape rule")
    _ROWS[op.name] = op
    return op


def find(name: str) -> Op:
    """Return the row called `name`."""
    return _ROWS[name]


def rows(*kinds: Kind) -> Iterator[Op]:
    """Yield the rows of these kinds (all if none is named) in definition order."""
    return (op for op in _ROWS.values() if not kinds or op.kind in kinds)
