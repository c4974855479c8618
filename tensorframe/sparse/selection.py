"""Rows and columns of sparse tensors, by whatever NumPy takes for an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.errors import IndexingError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.operands import filled
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.sparse import structure
from tensorframe.sparse.structure import Array
from tensorframe.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from tensorframe.sparse.compressed import CSR


class Selectable(SparseTensor):
    """What square brackets give."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """Return selected rows, columns, matrices of a stack or elements.

        Rows and matrices of a stack are selected by integers, slices, masks and index arrays, as NumPy selects along
        these axes. What has two axes left, or more, is sparse and of the same format; one row, one column and single
        elements are dense. Which elements are selected depends on the indices, which are computed now.
        """
        keys = _complete(key if isinstance(key, tuple) else (key,), self.ndim)
        *outer, last = [_plain(own) for own in keys]
        if len(keys) < self.ndim or _is_whole(last):
            return _lines(self, tuple(outer if len(keys) == self.ndim else keys))
        if all(map(_is_whole, outer)):
            return _columns(self, last)
        if not any(isinstance(own, slice) for own in (*outer, last)):
            return _elements(self, tuple(outer), last)
        rows = _lines(self, tuple(outer))
        return rows[last] if isinstance(rows, Tensor) else _columns(rows, last)


def _complete(keys: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """Return a key without an ellipsis; IndexingError for what adds axes, and for too many keys."""
    if any(own is None for own in keys):
        raise IndexingError(
            "a sparse tensor gets no new axes by None", suggestions=("A.todense()[None]",)
        )
    if any(own is Ellipsis for own in keys):
        gap = next(place for place, own in enumerate(keys) if own is Ellipsis)
        missing = ndim - len(keys) + 1
        keys = (*keys[:gap], *[slice(None)] * missing, *keys[gap + 1 :])
    if len(keys) > ndim:
        raise IndexingError(f"{len(keys)} indices for a sparse tensor of {ndim} axes")
    return keys


def _plain(key: Any) -> Any:
    """Return one part of a key as NumPy takes it."""
    if isinstance(key, Tensor):
        return key.numpy()
    return np.asarray(key) if isinstance(key, list) else key


def _is_whole(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)


def _lines(tensor: SparseTensor, keys: tuple[Any, ...]) -> Any:
    """Return the rows that keys for the axes before the last select; one row alone is dense."""
    rows = tensor.tocsr()
    numbers = np.arange(int(np.prod(tensor.shape[:-1]))).reshape(tensor.shape[:-1])
    try:
        chosen = numbers[keys]
    except IndexError as error:
        raise IndexingError(f"sparse tensor of shape {tensor.shape}: {error}") from error
    made = _taken_lines(rows, np.asarray(chosen))
    return made if isinstance(made, Tensor) else made.asformat(tensor.format)


def _taken_lines(rows: CSR, chosen: Array) -> CSR | Tensor:
    """Return the rows of these numbers, counted through the stack."""
    pointers = structure.host(rows.indptr)
    flat = chosen.reshape(-1)
    begins, counts = pointers[flat], np.diff(pointers)[flat]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    order = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts) + np.repeat(begins, counts)
    places = asarray(order.astype(structure.index_dtype(rows.device, rows.nnz)), device=rows.device)
    width = rows.shape[-1]
    shape: Shape = (*chosen.shape, width) if chosen.ndim else (1, width)
    made = type(rows)(
        structure.taken(rows.data, places),
        structure.taken(rows.indices, places),
        structure.like(indptr, rows.indptr),
        shape,
    )
    return made if chosen.ndim else made.todense()[0]


def _elements(tensor: SparseTensor, outer: tuple[Any, ...], last: Any) -> Tensor:
    """Return the elements that index arrays for all axes point to; zero where none is stored."""
    rows = tensor.tocsr().coalesce()
    try:
        lines = np.arange(int(np.prod(tensor.shape[:-1]))).reshape(tensor.shape[:-1])[outer]
        columns = np.arange(tensor.shape[-1])[last]
        wanted = np.asarray(lines * tensor.shape[-1] + columns)
    except (IndexError, ValueError) as error:
        raise IndexingError(f"sparse tensor of shape {tensor.shape}: {error}") from error
    own = rows._lines()
    keys = own.numbers() * own.length + own.indices
    places = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if not len(keys):
        return filled(wanted.shape, 0, rows.dtype, rows.device)
    stored = asarray(keys[places] == wanted, device=rows.device)
    dtype = structure.index_dtype(rows.device, rows.nnz)
    picked = structure.taken(rows.data, asarray(places.astype(dtype), device=rows.device))
    return where(stored, picked, 0)


def _columns(tensor: SparseTensor, key: Any) -> Any:
    """Return selected columns of each matrix: the rows of its transpose."""
    across = tensor.mT
    whole = (slice(None),) * (tensor.ndim - 2)
    picked = _lines(across, (*whole, key))
    if isinstance(picked, Tensor):
        return picked
    if picked.ndim < tensor.ndim:  # one column of each matrix of a stack
        return picked.todense()
    return picked.mT.asformat(tensor.format)
