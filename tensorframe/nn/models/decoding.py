"""What causal models share: which positions each token sees, attention over them, and products with one factor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import NARROW, float32, int32
from tensorframe.errors import ShapeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import permuted, reshaped
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import history
from tensorframe.nn import functional
from tensorframe.nn.cache import KVCache, Stored
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.ops.elementwise import GREATER, GREATER_EQUAL, LESS_EQUAL, LOGICAL_AND, SUBTRACT
from tensorframe.ops.quantization import FEW, JOINED_MATMUL, JOINED_QUANTIZED_MATMUL
from tensorframe.quick_tuples import NamedTuple


class Seen(NamedTuple):
    """What all layers of a call share: where its tokens are, and which positions they see.

    `positions` are (batch, length), `mask` is (batch, 1, length, columns): true where a query sees a key.
    """

    cache: Stored | None
    rows: Tensor
    positions: Tensor
    reach: int
    mask: Tensor

    def attended(self, layer: int, q: Tensor, both: Tensor) -> Tensor:
        """Return averages of values, (batch, length, heads * head_dim), for queries (batch, length, heads, head_dim).

        `both` are keys, and then values, of the same tokens: (batch, length, 2 * shared, head_dim). They are written to
        the cache, if there is one, and all positions up to `reach` are seen. Each key serves as many neighbouring
        queries.
        """
        batch, length, heads, size = q.shape
        if self.cache is not None:
            self.cache.write_both(layer, both, self.rows, self.positions)
            both = self.cache.read_both(layer, self.reach)
        shared = both.shape[2] // 2
        keys, values = (
            permuted(half, (0, 2, 1, 3)) for half in (both[:, :, :shared], both[:, :, shared:])
        )
        if length == 1:
            # queries that share a key are rows of one product
            grouped = reshaped(q, (batch, shared, heads // shared, size))
            weighted = functional.scaled_dot_product_attention(grouped, keys, values, self.mask)
        else:
            queries = permuted(q, (0, 2, 1, 3))
            weighted = functional.scaled_dot_product_attention(
                queries, keys, values, self.mask, enable_gqa=True
            )
            weighted = permuted(weighted, (0, 2, 1, 3))
        return reshaped(weighted, (batch, length, heads * size))


def checked(name: str, ids: Any) -> Tensor:
    """Return token numbers (batch, length) as a tensor."""
    tokens = asarray(ids)
    if tokens.ndim != 2:
        raise ShapeError(f"{name}: token numbers have shape (batch, length), got {tokens.shape}")
    return tokens


def look(
    tokens: Tensor, cache: KVCache | Stored | None, offsets: Any, reach: int, window: int | None
) -> Seen:
    """Return what tokens (batch, length) see that begin at `offsets` (batch,): a window of positions, if any."""
    batch, length = tokens.shape
    device = tokens.device
    steps = reshaped(counted(length, 0, 1, int32, device), (1, length))
    positions = steps if offsets is None else steps + reshaped(asarray(offsets), (batch, 1))
    stored = cache.stored if isinstance(cache, KVCache) else cache
    columns = counted(length if stored is None else reach, 0, 1, int32, device)
    queries = reshaped(positions, (positions.shape[0], 1, length, 1))
    if stored is not None and stored.is_ring:
        # a place has the last position that was written there
        last = queries[:, :, -1:]
        columns = last - (last - columns) % stored.places
        mask = apply(
            LOGICAL_AND, apply(LESS_EQUAL, columns, queries), apply(GREATER_EQUAL, columns, 0)
        )
    else:
        mask = apply(LESS_EQUAL, columns, queries)
    if window is not None:
        mask = apply(LOGICAL_AND, mask, apply(GREATER, columns, apply(SUBTRACT, queries, window)))
    rows = reshaped(counted(batch, 0, 1, int32, device), (batch, 1))
    return Seen(stored, rows, positions, reach, mask)


def joined(x: Tensor, layers: Sequence[Linear], size: int) -> Tensor:
    """Return what several layers give for features (batch, length, n), as heads: (batch, length, heads, size).

    For a few tokens that is one call, where the device computes such rows whole, or in one kernel.
    """
    able = capabilities(x.device)
    products = _joined(x, layers) if _is_step(x) and (able.whole or able.compiles) else None
    if products is None:
        return concat([_as_heads(layer(x), size) for layer in layers], axis=2)
    return _as_heads(products, size)


def apart(x: Tensor, layers: Sequence[Linear]) -> list[Tensor]:
    """Return what each of several layers gives.

    For a few tokens that is one call, where the device computes such rows whole. Elsewhere a kernel goes on with what
    one layer gives while it computes another.
    """
    products = _joined(x, layers) if _is_step(x) and capabilities(x.device).whole else None
    if products is None:
        return [layer(x) for layer in layers]
    parts, first = [], 0
    for layer in layers:
        rows = layer.weight.shape[0]
        parts.append(products[..., first : first + rows])
        first += rows
    return parts


def _is_step(x: Tensor) -> bool:
    """Whether features are those of a few tokens, without gradients: reading weights is what their products take."""
    few = 0 < prod(x.shape[:-1]) <= FEW and x.dtype in NARROW | {float32}
    return few and history.get() is None


def _as_heads(features: Tensor, size: int) -> Tensor:
    return reshaped(features, (*features.shape[:-1], features.shape[-1] // size, size))


def _joined(x: Tensor, layers: Sequence[Linear]) -> Tensor | None:
    """Return what several layers give as one row, if they are linear and no more, and their weights are of one kind."""
    if any(type(layer) is not Linear for layer in layers):
        return None
    weights = [layer.weight for layer in layers]
    if len({layer.bias is None for layer in layers}) > 1:
        return None
    matrices = [weight for weight in weights if isinstance(weight, QuantizedTensor)]
    if not matrices:
        plain = [weight for weight in weights if isinstance(weight, Tensor)]
        if any(layer.weight_is_transposed for layer in layers) or {x.dtype} != {
            weight.dtype for weight in plain
        }:
            return None
        return _with_biases(call(JOINED_MATMUL, x, *plain), layers)
    kinds = {(matrix.bits, matrix.group, matrix.zeros is None) for matrix in matrices}
    (kind, *others) = kinds
    bits, group, symmetric = kind
    if len(matrices) < len(weights) or others or not symmetric:
        return None
    parts = [part for matrix in matrices for part in (matrix.words, matrix.scales)]
    return _with_biases(call(JOINED_QUANTIZED_MATMUL, x, *parts, attrs=(bits, group)), layers)


def _with_biases(products: Tensor, layers: Sequence[Linear]) -> Tensor:
    biases = [layer.bias for layer in layers if layer.bias is not None]
    return products + concat(biases) if biases else products


def after(x: Tensor, last: Any) -> Tensor:
    """Return the features of each sequence's token number `last` alone: (batch, 1, features). All if that is None."""
    if last is None:
        return x
    rows = counted(x.shape[0], 0, 1, int32, x.device)
    return x[rows, last][:, None]
