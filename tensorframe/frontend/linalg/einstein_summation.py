"""Einstein summation: subscripts are read, checked against the shapes, and recorded in a normal form."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from tensorframe.dtypes import DTypeLike, as_dtype
from tensorframe.errors import ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.dtypes.casting import Casting, raise_unless_allowed
from tensorframe.frontend.operands import converted, promoted, reshaped
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import integer, items
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.ops.contraction import EINSUM, MATMUL

__all__ = ["einsum"]

# letters are the user's own; the axes under an ellipsis are numbered from the end, so that they line up
Index = Hashable
Indices = tuple[Index, ...]

# in the order in which they are given out; importing `string` would compile patterns for these alone
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in NumPy's order
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(
    *operands: Any,
    out: Output = None,
    optimize: bool | str | Sequence[Any] = False,
    dtype: DTypeLike | None = None,
    casting: Casting = "safe",
    order: str = "K",
) -> Tensor:
    """Products of the operands, summed over every index that the result lacks (Einstein's convention).

    `"ij,jk->ik"` is a matrix product, `"ii"` a trace, `"...i,...i->..."` dot products of stacks. Without `->` the
    result has the indices that occur once, in alphabetical order, after the ellipsis. Sizes of an index must be
    equal or 1. Three operands and more are contracted pairwise in a cheap order, whatever `optimize` is. Operands may
    also alternate with lists of the numbers of their indices, and end with those of the result. `out` receives the
    result, which is computed in `dtype` if that is given, as far as the rule `casting` allows.

    >>> tfr.einsum("ij,j->i", np.asarray([[1, 2], [3, 4]]), np.asarray([1, 10])).numpy()
    array([21, 43])
    """
    del optimize, order
    subscripts, *given = (
        operands if operands and isinstance(operands[0], str) else _spelled(operands)
    )
    if not given:
        hint = 'einsum("ij,jk->ik", x, y)'
        raise ShapeError("einsum: takes a string and at least one operand", suggestions=(hint,))
    tensors = promoted(*given)
    if dtype is not None:
        target = as_dtype(dtype)
        for tensor in tensors:
            raise_unless_allowed("einsum", tensor.dtype, target, casting)
        tensors = [converted(tensor, target) for tensor in tensors]
    inputs, output = _parse(subscripts, tuple([tensor.ndim for tensor in tensors]))
    result = contract(tensors, inputs, output)
    return result if out is None else delivered("einsum", result, out)


def _spelled(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return subscripts and operands, where these alternate with lists of the numbers of their indices."""
    if len(operands) < 2:
        return ("",)
    pairs = list(zip(operands[::2], operands[1::2], strict=False))
    terms = [_letters_of(numbers) for _, numbers in pairs]
    arrow = "->" + _letters_of(operands[-1]) if len(operands) % 2 else ""
    return (",".join(terms) + arrow, *[tensor for tensor, _ in pairs])


def _letters_of(numbers: Any) -> str:
    """Return the letters of indices that are numbers, which count the letters of NumPy's alphabet."""
    term = ""
    for number in items("einsum", "an operand's indices", numbers):
        place = -1 if number is ... else integer("einsum", "an index", number)
        if place >= len(_LETTERS) or (place < 0 and number is not ...):
            raise ShapeError(
                f"einsum: indices are numbers from 0 to {len(_LETTERS) - 1}, got {place}"
            )
        term += "..." if number is ... else _ALPHABET[place]
    return term


@lru_cache(maxsize=256)
def _parse(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[Indices], Indices]:
    """Return the indices of each operand and of the result, ellipses spelled out."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        message = f"einsum: {subscripts!r} is for {len(terms)} operands, got {len(ranks)}"
        raise ShapeError(message)
    inputs = [_indices(subscripts, term, rank) for term, rank in zip(terms, ranks, strict=True)]
    hidden = max((indices for indices in map(_hidden, inputs)), key=len)
    if arrow:
        output = _indices(subscripts, right, len(right.replace("...", "")) + len(hidden))
        _check_output(subscripts, inputs, output)
        return inputs, output
    letters = [index for index in left if index.isalpha()]
    once = tuple(sorted(index for index in set(letters) if letters.count(index) == 1))
    return inputs, hidden + once


def _hidden(indices: Indices) -> Indices:
    return tuple(index for index in indices if isinstance(index, int))


def _indices(subscripts: str, term: str, rank: int) -> Indices:
    """Return the indices of one operand that has `rank` axes."""
    before, dots, after = term.partition("...")
    letters = before + after
    if not all(letter in _LETTERS for letter in letters):
        wrong = next(letter for letter in letters if letter not in _LETTERS)
        raise ShapeError(
            f"einsum: {wrong!r} in {subscripts!r} is neither a letter nor part of '...'"
        )
    covered = rank - len(letters)
    if covered < 0 or (covered and not dots):
        message = (
            f"einsum: {term!r} in {subscripts!r} names {len(letters)} axes, its operand has {rank}"
        )
        raise ShapeError(message, suggestions=('"..." stands for the axes without a letter',))
    return tuple(before) + tuple(range(-covered, 0)) + tuple(after)


def _check_output(subscripts: str, inputs: list[Indices], output: Indices) -> None:
    known = set().union(*inputs)
    for index in output:
        if index not in known:
            raise ShapeError(
                f"einsum: the result index {index!r} of {subscripts!r} is in no operand"
            )
        if output.count(index) > 1:
            raise ShapeError(f"einsum: {subscripts!r} has the result index {index!r} twice")


def contract(tensors: Sequence[Tensor], inputs: Sequence[Indices], output: Indices) -> Tensor:
    """Record the contraction: sizes checked, axes that broadcast dropped, indices renamed by first appearance.

    Equal contractions get equal subscripts whatever letters the user chose.
    """
    shapes, subscripts = _recipe(
        tuple([tensor.shape for tensor in tensors]), tuple(map(tuple, inputs)), tuple(output)
    )
    operands = [reshaped(tensor, shape) for tensor, shape in zip(tensors, shapes, strict=True)]
    if subscripts == "a,a->":
        return call(MATMUL, *operands)
    return call(EINSUM, *operands, attrs=(subscripts,))


@lru_cache(maxsize=256)
def _recipe(
    shapes: tuple[Shape, ...], inputs: tuple[Indices, ...], output: Indices
) -> tuple[tuple[Shape, ...], str]:
    """Return the shapes without axes that broadcast, and the subscripts; ShapeError if sizes do not fit."""
    sizes = _sizes(shapes, inputs)
    real = [
        [axis for axis, index in enumerate(indices) if shape[axis] == sizes[index]]
        for shape, indices in zip(shapes, inputs, strict=True)
    ]
    kept = [[indices[axis] for axis in axes] for indices, axes in zip(inputs, real, strict=True)]
    names = dict(
        zip(dict.fromkeys(index for own in kept for index in own), _letters(), strict=False)
    )
    terms = ["".join([names[index] for index in indices]) for indices in kept]
    subscripts = ",".join(terms) + "->" + "".join([names[index] for index in output])
    dropped = [
        tuple([shape[axis] for axis in axes]) for shape, axes in zip(shapes, real, strict=True)
    ]
    return tuple(dropped), subscripts


def _letters() -> Iterator[str]:
    yield from _LETTERS
    raise ShapeError(f"einsum: more than {len(_LETTERS)} different indices")


def _sizes(shapes: Sequence[Shape], inputs: Sequence[Indices]) -> dict[Index, int]:
    """Return the size of each index; 1 broadcasts between operands, not inside one."""
    sizes: dict[Index, int] = {}
    for shape, indices in zip(shapes, inputs, strict=True):
        own: dict[Index, int] = {}
        for index, size in zip(indices, shape, strict=True):
            if own.setdefault(index, size) != size:
                raise _size_error(shapes, index, own[index], size)
        for index, size in own.items():
            known = sizes.setdefault(index, size)
            if known == 1:
                sizes[index] = size
            elif size not in (1, known):
                raise _size_error(shapes, index, known, size)
    return sizes


def _size_error(shapes: Sequence[Shape], index: Index, size: int, other: int) -> ShapeError:
    name = f"axis {index} under '...'" if isinstance(index, int) else f"index {index!r}"
    listed = " and ".join(map(str, shapes))
    return ShapeError(f"einsum: {name} has sizes {size} and {other} in operands of shape {listed}")
