"""Gradients of matrix products and of Einstein summation: products again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from tensorframe.ops.derivatives import conjugate, inverse_permutation
from tensorframe.ops.term import Term, arange, call, equal, matmul, where


def product(ct: Term, _out: Term, x: Term, y: Term) -> Sequence[Any]:
    """Rule of a matrix product: ct y^H and x^H ct; of vectors, products that broadcast."""
    return partial(_of_left, ct, x, y), partial(_of_right, ct, x, y)


def _of_left(ct: Term, x: Term, y: Term) -> Term:
    y = conjugate(y)
    if len(y.shape) == 1:  # the last axis of x was summed
        return _column(ct) * y if len(x.shape) > 1 else ct * y
    if len(x.shape) == 1:
        whole = matmul(y, _column(ct))
        return whole.reshaped(whole.shape[:-1])
    return matmul(ct, _transposed(y))


def _of_right(ct: Term, x: Term, y: Term) -> Term:
    x = conjugate(x)
    if len(x.shape) == 1:
        return x * ct if len(y.shape) == 1 else _column(x) * _row(ct)
    if len(y.shape) == 1:
        return matmul(ct.reshaped((prod(ct.shape),)), _rows(x))
    if len(y.shape) == 2 and len(x.shape) > 2:  # one product, instead of a stack and its sum
        return matmul(_transposed(_rows(x)), _rows(ct))
    return matmul(_transposed(x), ct)


def of_permuted(ct: Term, _out: Term, _x: Term, axes: tuple[int, ...]) -> tuple[Term]:
    """Rule of another order of axes: the cotangent's axes in the order before.

    The gradient of a transposed weight is a product, whose transpose is the product of the transposed factors: so its
    rows lie in memory as the weight's do, which is what updates it.
    """
    node = ct.node
    if node.op.name == "matmul" and node.inputs and _transposes(axes):
        x, y = [Term(factor, ct.apply) for factor in node.inputs]
        if min(len(x.shape), len(y.shape)) > 1:
            return (call("matmul", _transposed(y), _transposed(x), attrs=node.attrs),)
    return (ct.permuted(inverse_permutation(axes)),)


def _transposes(axes: tuple[int, ...]) -> bool:
    """Whether an order of axes exchanges the last two, and no others."""
    last = len(axes) - 1
    return last > 0 and axes == (*range(last - 1), last, last - 1)


def _rows(x: Term) -> Term:
    """Return a stack of matrices as one, of all their rows."""
    return x.reshaped((prod(x.shape[:-1]), x.shape[-1]))


def _column(x: Term) -> Term:
    return x.reshaped((*x.shape, 1))


def _row(x: Term) -> Term:
    return x.reshaped((*x.shape[:-1], 1, *x.shape[-1:]))


def _transposed(x: Term) -> Term:
    count = len(x.shape)
    return x.permuted((*range(count - 2), count - 1, count - 2))


def summation(ct: Term, _out: Term, *operands_and_subscripts: Any) -> Sequence[Any]:
    """Rule of Einstein summation: for each operand, the sum in which it has changed places with the result."""
    *operands, subscripts = operands_and_subscripts
    left, _, output = subscripts.partition("->")
    indices = left.split(",")
    return [partial(_of_operand, ct, operands, indices, output, number) for number in range(len(operands))]


def _of_operand(ct: Term, operands: list[Term], indices: list[str], output: str, number: int) -> Term:
    own, shape = indices[number], operands[number].shape
    others = [conjugate(operand) for place, operand in enumerate(operands) if place != number]
    known = [output, *[term_indices for place, term_indices in enumerate(indices) if place != number]]
    single = "".join(dict.fromkeys(own))
    summed_with = "".join([index for index in single if any(index in term_indices for term_indices in known)])
    term = ct
    if others or output != summed_with:
        term = call("einsum", ct, *others, attrs=(f"{','.join(known)}->{summed_with}",))
    # what nothing else has was summed alone: the same for each
    sizes = dict(zip(own, shape, strict=True))
    term = term.reshaped(tuple([sizes[index] if index in summed_with else 1 for index in single]))
    term = term.expanded(tuple([sizes[index] for index in single]))
    return _on_diagonal(term, single, own, shape) if single != own else term


def _on_diagonal(term: Term, single: str, own: str, shape: tuple[int, ...]) -> Term:
    """Return what stands on the diagonal of axes that share an index, with zeros around."""
    last = {index: own.rindex(index) for index in single}
    order = sorted(single, key=last.__getitem__)
    term = term.permuted(tuple([single.index(index) for index in order]))
    places = set(last.values())
    term = term.reshaped(tuple([n if axis in places else 1 for axis, n in enumerate(shape)]))
    for axis, index in enumerate(own):
        if axis not in places:
            rows = _positions(term, shape, axis)
            columns = _positions(term, shape, last[index])
            term = where(equal(rows, columns), term, 0)
    return term


def _positions(like: Term, shape: tuple[int, ...], axis: int) -> Term:
    return arange(like, shape[axis]).reshaped(
        tuple([n if dimension == axis else 1 for dimension, n in enumerate(shape)])
    )
