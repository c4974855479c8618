"""Products of two sparse tensors: places are found on the host, elements are recorded and have gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorframe.errors import ShapeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.operands import promoted
from tensorframe.frontend.tensor import Tensor
from tensorframe.sparse import structure
from tensorframe.sparse.coordinates import COO
from tensorframe.sparse.structure import Array

if TYPE_CHECKING:
    from tensorframe.sparse.tensor import SparseTensor


def common_places(left: SparseTensor, right: SparseTensor) -> COO:
    """Return the elementwise product, whose places are those that both tensors store."""
    mine, theirs = left.tocoo().coalesce(), right.tocoo().coalesce()
    keys = [
        structure.flat([structure.host(own) for own in each.coords], each.shape)
        for each in (mine, theirs)
    ]
    _, first, second = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    x, y = promoted(mine.data, theirs.data)
    places = _numbers(first, x)
    coords = tuple([structure.taken(own, places) for own in mine.coords])
    return COO(
        structure.taken(x, places) * structure.taken(y, _numbers(second, y)), coords, left.shape
    )


def sparse_product(left: SparseTensor, right: SparseTensor) -> SparseTensor:
    """Return the product of matrices, or of stacks of equally many, coalesced, in the left one's compressed format.

    There is a product of elements for each pair that meets, as Gustavson's algorithm makes them (1978); all of them
    are in memory before they are added up.
    """
    if left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"matmul: sparse tensors of shapes {left.shape} and {right.shape} do not fit",
            suggestions=("A.mT if the other axis is to be summed over",),
        )
    whole, lines = left.tocoo(), right.tocsr()
    *outer, rows, inner = [structure.host(own) for own in whole.coords]
    pointers, columns = structure.host(lines.indptr), structure.host(lines.indices)
    met = structure.flat((*outer, inner), (*left.shape[:-2], left.shape[-1]))
    counts = pointers[met + 1] - pointers[met]
    first = np.repeat(np.arange(len(met)), counts)
    second = (
        np.arange(len(first))
        - np.repeat(np.cumsum(counts) - counts, counts)
        + np.repeat(pointers[met], counts)
    )
    x, y = promoted(whole.data, lines.data)
    products = structure.taken(x, _numbers(first, x)) * structure.taken(y, _numbers(second, y))
    shape = (*left.shape[:-1], right.shape[-1])
    coords = (*[own[first] for own in (*outer, rows)], columns[second])
    like = whole.coords[-1]
    made = COO(products, tuple([structure.like(own, like) for own in coords]), shape)
    return made.coalesce().asformat(left.format)


def _numbers(places: Array, data: Tensor) -> Tensor:
    """Return places among elements as a tensor beside them."""
    dtype = structure.index_dtype(data.device, data.shape[0])
    return asarray(places.astype(dtype), device=data.device)
