"""Terms: nodes or arrays with operators, so that the meaning of a row reads like the formula."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tensorframe.dtypes import DType, int32
from tensorframe.graph.node import Node
from tensorframe.graph.op import find
from tensorframe.graph.record import constant
from tensorframe.graph.shape import Shape

Apply = Callable[..., Any]


def _call(name: str, *operands: Any) -> Term:
    nodes = list(operands)
    for index, operand in enumerate(operands):
        if type(operand) is Term:
            nodes[index], apply = operand.node, operand.apply
    return Term(apply(find(name), *nodes), apply)


def call(name: str, *operands: Any, attrs: tuple[Any, ...]) -> Term:
    """Return a row that has attributes, of terms."""
    apply = operands[0].apply
    return Term(apply(find(name), *[operand.node for operand in operands], attrs=attrs), apply)


def arange(like: Term, size: int) -> Term:
    """Return the positions 0 to `size` - 1, on the device of a term, in a dtype that every device has."""
    node = like.node
    return Term(Node(find("arange"), (), (0, 1, 0, 1), (size,), int32, node.device, node.site), like.apply)


def _function(name: str) -> Callable[..., Term]:
    def call(*operands: Any) -> Term:
        return _call(name, *operands)

    call.__name__ = name
    return call


def _operator(name: str) -> Callable[..., Term]:
    """Return a function of one or two operands, of which the first is a term: what rules mostly consist of."""

    def call(left: Term, *right: Any) -> Term:
        apply = left.apply
        if not right:
            return Term(apply(find(name), left.node), apply)
        other = right[0]
        return Term(apply(find(name), left.node, other.node if type(other) is Term else other), apply)

    call.__name__ = name
    return call


def _reflected(name: str) -> Callable[..., Term]:
    def call(right: Term, left: Any) -> Term:
        apply = right.apply
        return Term(apply(find(name), left, right.node), apply)

    return call


class Term:
    """A node (or, in the NumPy engine, an array) inside an expansion, with what applies further ops to it."""

    __slots__ = ("apply", "node")

    def __init__(self, node: Any, apply: Apply) -> None:
        self.node = node
        self.apply = apply

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        dtype: DType = self.node.dtype
        return dtype

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        shape: Shape = self.node.shape
        return shape

    def count(self, axes: tuple[int, ...]) -> int:
        """Return how many elements the axes hold."""
        return prod([self.shape[axis] for axis in axes])

    def sum(self, axes: tuple[int, ...], keepdims: bool) -> Term:
        """Return the sum along axes."""
        return self._with("sum", axes, keepdims)

    def max(self, axes: tuple[int, ...], keepdims: bool) -> Term:
        """Return the largest elements along axes."""
        return self._with("max", axes, keepdims)

    def min(self, axes: tuple[int, ...], keepdims: bool) -> Term:
        """Return the smallest elements along axes."""
        return self._with("min", axes, keepdims)

    def all(self, axes: tuple[int, ...], keepdims: bool) -> Term:
        """Return whether all elements along axes are true."""
        return self._with("all", axes, keepdims)

    def reshaped(self, shape: Shape) -> Term:
        """Return the elements under another shape of as many elements."""
        return self._with("reshape", shape) if self.shape != shape else self

    def expanded(self, shape: Shape) -> Term:
        """Return the elements broadcast to a shape."""
        return self._with("expand", shape) if self.shape != shape else self

    def permuted(self, axes: tuple[int, ...]) -> Term:
        """Return the axes in another order."""
        return self._with("permute", axes) if axes != tuple(range(len(axes))) else self

    def cast(self, dtype: DType) -> Term:
        """Return the elements in another dtype."""
        return self._with("cast", dtype) if self.dtype != dtype else self

    def sliced(self, starts: Shape, sizes: Shape, steps: Shape) -> Term:
        """Return every step-th element from a start on, for each axis."""
        return self._with("slice", starts, sizes, steps)

    def flipped(self, axes: tuple[int, ...]) -> Term:
        """Return the elements in reverse order along axes."""
        if not axes:
            return self
        turned = [axis in axes for axis in range(len(self.shape))]
        starts = tuple([max(n - 1, 0) if t else 0 for n, t in zip(self.shape, turned, strict=True)])
        return self.sliced(starts, self.shape, tuple([-1 if t else 1 for t in turned]))

    def padded(self, before: Shape, after: Shape, value: complex = 0) -> Term:
        """Return the elements surrounded by a number."""
        return self._with("pad", before, after, value) if any(before) or any(after) else self

    def scanned(self, name: str, axis: int) -> Term:
        """Return a scan along an axis, `cumulative_sum` or `cumulative_prod`."""
        return self._with(name, axis)

    def filled(self, value: complex, shape: Shape) -> Term:
        """Return a tensor of one number, of the dtype and on the device of this one."""
        node = self.node
        number = constant(value, node.dtype, node.device, node.site)
        return Term(self.apply(find("expand"), number, attrs=(shape,)), self.apply)

    def part(self, index: int, shape: Shape, dtype: DType) -> Term:
        """Return one of the tensors that a library call gives."""
        return self._with("part", index, shape, dtype)

    def _with(self, name: str, *attrs: Any) -> Term:
        return Term(self.apply(find(name), self.node, attrs=attrs), self.apply)

    __add__ = _operator("add")
    __radd__ = _reflected("add")
    __sub__ = _operator("subtract")
    __rsub__ = _reflected("subtract")
    __mul__ = _operator("multiply")
    __rmul__ = _reflected("multiply")
    __truediv__ = _operator("divide")
    __rtruediv__ = _reflected("divide")
    __pow__ = _operator("pow")
    __matmul__ = _operator("matmul")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __neg__ = _operator("negative")
    __abs__ = _operator("abs")


exp = _operator("exp")
exp2 = _function("exp2")
expm1 = _function("expm1")
log = _operator("log")
log2 = _function("log2")
log10 = _function("log10")
log1p = _function("log1p")
sqrt = _operator("sqrt")
root = _function("root")
hypot = _function("hypot")
floor = _function("floor")
sign = _operator("sign")
square = _operator("square")
trunc = _function("trunc")
floor_divide = _function("floor_divide")
sigmoid = _function("sigmoid")
sin = _operator("sin")
cos = _operator("cos")
sinh = _function("sinh")
cosh = _function("cosh")
asinh = _function("asinh")
atan2 = _function("atan2")
erf = _function("erf")
maximum = _function("maximum")
minimum = _function("minimum")
copysign = _function("copysign")
where = _function("where")
equal = _function("equal")
not_equal = _function("not_equal")
isinf = _function("isinf")
isfinite = _function("isfinite")
reciprocal = _function("reciprocal")
real = _operator("real")
conj = _operator("conj")
isnan = _function("isnan")
negative = _function("negative")
imag = _function("imag")
matmul = _function("matmul")
logical_and = _function("logical_and")
logical_or = _function("logical_or")
logical_not = _function("logical_not")
