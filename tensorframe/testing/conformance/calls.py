"""Calls: for every op row, a call of the namespace that records it, on operands that all sides define alike.

Each takes a namespace of functions, a matrix of small whole numbers, and one that is symmetric and positive definite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorframe as tfr
import tensorframe.ops.random  # rows that are defined when they are first needed
import tensorframe.ops.special
from tensorframe.frontend.dispatch import call
from tensorframe.ops.quantization import DOT4, JOINED_MATMUL, JOINED_QUANTIZED_MATMUL
from tensorframe.ops.sparse import SAMPLED_MATMUL

Call = Callable[[Any, Any], Any]
KEY = 5


def _scattered(x: Any, _: Any) -> Any:
    y = tfr.asarray(x, copy=True)
    y[_positions(x, 2, 0)] = x[0]
    return y


def _replaced(x: Any, _: Any) -> Any:
    y = tfr.asarray(x, copy=True)
    y[1:, ::-2] = x[:-1, ::2]
    return y


def _positions(x: Any, *values: int) -> Any:
    # of Python's integers, which become the device's default ones
    return tfr.asarray(list(values), device=x.device)


def _rebuilt(parts: Any) -> Any:
    """Return the product of a singular value decomposition: its factors may have other signs."""
    return (parts.U * parts.S[None, :]) @ parts.Vh


# The elements of a row of two blocks.
_TERMS = 64


def _wide(x: Any) -> Any:
    """Return rows of two blocks of numbers."""
    return tfr.concat([x, x + 1] * 8, axis=1)[:, :_TERMS]


def _a_term(sums: Any) -> Any:
    """Return sums of products with either sign over how many there are: what is rounded has the size of these."""
    return sums / _TERMS


def _quantized(x: Any, zeros: bool = False) -> Any:
    words = tfr.astype(_wide(abs(x))[:, :16], tfr.uint32) * 0x01030507
    scales = tfr.full((words.shape[0], 2), 0.5, dtype=tfr.float32, device=x.device)
    of_groups = scales * 6 if zeros else None
    return tfr.quantization.QuantizedTensor(words, scales, of_groups, bits=8, group=32)


def _rows(x: Any) -> Any:
    """Return a sparse matrix of all elements but those of two columns."""
    columns = [0, 1, 2, 5] * x.shape[0]
    data, begins = x[:, :4].reshape(-1), list(range(0, len(columns) + 1, 4))
    return tfr.sparse.csr_array((data, columns, begins), shape=x.shape, device=x.device)


def _sampled(x: Any, _: Any) -> Any:
    rows = _rows(x)
    operands = (x[None, :, :3], x[None, :, 3:], rows.indices % x.shape[0], rows.indptr)
    return call(SAMPLED_MATMUL, *operands, attrs=(False,))


def _replayed(x: Any, _: Any) -> Any:
    return tfr.jit(lambda y: y + y)(x)


CALLS: dict[str, Call] = {
    "constant": lambda x, _: x + x.dtype.type(2),
    "data": lambda x, _: tfr.asarray(x, copy=True),
    "full": lambda x, _: tfr.full((3, 4), 3, dtype=x.dtype, device=x.device) + x[:3, :4],
    "arange": lambda x, _: tfr.arange(7, dtype=x.dtype, device=x.device),
    "argument": _replayed,
    "riemann_zeta": lambda x, _: tfr.special.zeta(x),
    "random_word": lambda x, _: tfr.random.uniform(
        (5, 3), key=tfr.random.key(KEY), device=x.device
    ),
    "root": lambda x, _: tfr.std(x, axis=1),
    "logaddexp2": lambda x, _: tfr.logaddexp2(x, x[0]),
    "surprisal": lambda x, _: tfr.random.exponential(
        (5, 3), dtype=x.dtype, key=tfr.random.key(KEY), device=x.device
    ),
    "cos_turns": lambda x, _: tfr.random.normal(
        (5, 3), dtype=x.dtype, key=tfr.random.key(KEY), device=x.device
    ),
    "cast": lambda x, _: tuple(
        tfr.astype(x, dtype) for dtype in ("float32", "int32") if x.dtype.kind != "c"
    ),
    "sum": lambda x, _: (tfr.sum(x), tfr.sum(x, axis=1), tfr.sum(x, axis=0, keepdims=True)),
    "prod": lambda x, _: (tfr.prod(x[:2]), tfr.prod(x, axis=0)),
    "max": lambda x, _: (tfr.max(x), tfr.max(x, axis=1)),
    "min": lambda x, _: (tfr.min(x), tfr.min(x, axis=0)),
    "any": lambda x, _: (tfr.any(x), tfr.any(x == x[0, 0], axis=1)),
    "all": lambda x, _: (tfr.all(x), tfr.all(x == x[0, 0], axis=0)),
    "argmax": lambda x, _: (tfr.argmax(x), tfr.argmax(x, axis=1)),
    "argmin": lambda x, _: (tfr.argmin(x), tfr.argmin(x, axis=0)),
    "mean": lambda x, _: (tfr.mean(x), tfr.mean(x, axis=1, keepdims=True)),
    "var": lambda x, _: (tfr.var(x), tfr.var(x, axis=0, correction=1)),
    "standardize": lambda x, _: (
        tfr.nn.functional.layer_norm(x, x.shape[-1]),
        tfr.nn.functional.batch_norm(x, training=True),
    ),
    "rms_scale": lambda x, _: tfr.nn.functional.rms_norm(x, x.shape[-1], eps=0.5),
    "pick": lambda x, _: tfr.nn.functional.nll_loss(x, _positions(x, 1, 5, 0, 2), reduction="none"),
    "cross_entropy": lambda x, _: (
        tfr.nn.functional.cross_entropy(x, _positions(x, 1, 5, 0, 2)),
        tfr.nn.functional.cross_entropy(x, x),
    ),
    "huber": lambda x, _: tfr.nn.functional.huber_loss(x, x[0], "none", 1.5),
    "logit_entropy": lambda x, _: tfr.nn.functional.binary_cross_entropy_with_logits(
        x, x[0] / 4, reduction="none"
    ),
    "binary_entropy": lambda x, _: tfr.nn.functional.binary_cross_entropy(
        (x + 1) / 16, x[0] / 4, reduction="none"
    ),
    "at_least": lambda x, _: tfr.nn.functional.margin_ranking_loss(x, x[0], x[1], 0.5),
    "raised": lambda x, _: tfr.nn.functional.gaussian_nll_loss(x, x[0], x * 1.5, eps=2.0),
    "leaky_relu": lambda x, _: tfr.nn.functional.leaky_relu(x, 0.25),
    "elu": lambda x, _: tfr.nn.functional.elu(x, 0.5),
    "celu": lambda x, _: tfr.nn.functional.celu(x, 0.5),
    "selu": lambda x, _: tfr.nn.functional.selu(x),
    "hardtanh": lambda x, _: tfr.nn.functional.hardtanh(x, -1.5, 2.0),
    "hardsigmoid": lambda x, _: tfr.nn.functional.hardsigmoid(x),
    "hardswish": lambda x, _: tfr.nn.functional.hardswish(x),
    "mish": lambda x, _: tfr.nn.functional.mish(x),
    "gelu_tanh": lambda x, _: tfr.nn.functional.gelu(x, "tanh"),
    "scaled_softplus": lambda x, _: tfr.nn.functional.softplus(x, 2.0, 5.0),
    "tanhshrink": lambda x, _: tfr.nn.functional.tanhshrink(x),
    "softshrink": lambda x, _: tfr.nn.functional.softshrink(x, 1.5),
    "hardshrink": lambda x, _: tfr.nn.functional.hardshrink(x, 1.5),
    "threshold": lambda x, _: tfr.nn.functional.threshold(x, 1.5, -9.0),
    "windows": lambda x, _: tfr.nn.functional.unfold(x[None], (2, 3), padding=1, stride=(2, 1)),
    "fold": lambda x, _: tfr.nn.functional.fold(x[:, :, None], (1, 2), (1, 2)),
    "max_pool": lambda x, _: tfr.nn.functional.max_pool2d(x[None], 3, 2, 1),
    "sum_pool": lambda x, _: tfr.nn.functional.avg_pool1d(x, 3, 2, 1, ceil_mode=True),
    "pool_index": lambda x, _: tfr.nn.functional.max_pool2d(x[None], 2, 1, return_indices=True)[1],
    "softmax": lambda x, _: (tfr.softmax(x), tfr.softmax(x, axis=0)),
    "masked_softmax": lambda x, _: tfr.nn.functional.scaled_dot_product_attention(x / 8, x / 8, x),
    "log_softmax": lambda x, _: (tfr.log_softmax(x), tfr.log_softmax(x, axis=0)),
    "logsumexp": lambda x, _: (tfr.logsumexp(x), tfr.logsumexp(x, axis=1, keepdims=True)),
    "ptp": lambda x, _: (tfr.ptp(x), tfr.ptp(x, axis=1)),
    "nanmax": lambda x, _: tfr.nanmax(tfr.where(x > 0, x, tfr.nan), axis=1),
    "nanmin": lambda x, _: tfr.nanmin(tfr.where(x > 0, x, tfr.nan), axis=0),
    "count_nonzero": lambda x, _: (tfr.count_nonzero(x), tfr.count_nonzero(x, axis=1)),
    "vector_norm": lambda x, _: (
        tfr.linalg.vector_norm(x),
        tfr.linalg.vector_norm(x, axis=0, keepdims=True),
    ),
    "cumulative_sum": lambda x, _: (
        tfr.cumulative_sum(x, axis=1),
        tfr.cumulative_sum(x, axis=0),
    ),
    "cumulative_prod": lambda x, _: tfr.cumulative_prod(x, axis=0),
    "reshape": lambda x, _: tfr.reshape(x, (3, -1)),
    "permute": lambda x, _: x.T,
    "expand": lambda x, _: tfr.broadcast_to(x[:, None], (4, 3, 6)),
    "slice": lambda x, _: (x[1:, ::-1], x[2, ::2], x[0, 0]),
    "pad": lambda x, _: tfr.pad(x, ((1, 0), (2, 1)), constant_values=1),
    "concat": lambda x, _: tfr.concat([x, x[:1], x[::-1]], axis=0),
    "matmul": lambda x, _: (x @ x.T, x @ x[0], tfr.stack([x, x]) @ x.T),
    "einsum": lambda x, _: tfr.einsum("ij,kj->ik", x, x),
    "convolution": lambda x, _: tfr.nn.functional.conv2d(
        x.reshape((1, 2, 2, -1)), x[:2, :6].reshape((3, 2, 2, 1)), padding=1
    ),
    "gather": lambda x, _: (
        tfr.take(x, _positions(x, 3, 0, -1), axis=1),
        x[_positions(x, 1, 1)],
    ),
    "take_along_axis": lambda x, _: tfr.take_along_axis(
        x, _positions(x, 1, 0, 1, 2, 3, 3)[None, :], axis=0
    ),
    "scatter": _scattered,
    "set_slice": _replaced,
    "scatter_add": lambda x, _: (
        tfr.index_add(x, _positions(x, 2, 0, 2), x[:3]),
        tfr.index_add(x, (slice(None), _positions(x, 5, -1)), x[:, 1:3]),
    ),
    "scatter_prod": lambda x, _: tfr.segment_prod(x, _positions(x, 1, 1, 0, 1), 3),
    "scatter_max": lambda x, _: tfr.segment_max(x, _positions(x, 2, 0, 2, -1), 3),
    "scatter_min": lambda x, _: tfr.segment_min(x, _positions(x, 2, 0, 2, -1), 3),
    "fftn": lambda x, _: tfr.fft.fft(x),
    "ifftn": lambda x, _: tfr.fft.ifft(x),
    "rfftn": lambda x, _: tfr.fft.rfft(x),
    "irfftn": lambda x, _: tfr.fft.irfft(x),
    "convolve": lambda x, _: tfr.convolve(x[0], x[1][:3]),
    "cholesky": lambda _, spd: tfr.linalg.cholesky(spd),
    "det": lambda _, spd: tfr.linalg.det(spd),
    "slogdet": lambda _, spd: tuple(tfr.linalg.slogdet(spd)),
    "inv": lambda _, spd: tfr.linalg.inv(spd),
    "pinv": lambda _, spd: tfr.linalg.pinv(spd[:, :3]),
    "solve": lambda _, spd: tfr.linalg.solve(spd, spd[:, :2] + 1),
    "lstsq": lambda _, spd: tfr.linalg.lstsq(spd, spd[:, 0] + 1)[0],
    "eig": lambda _, spd: tfr.sort(tfr.real(tfr.linalg.eig(spd)[0])),
    "eigvals": lambda _, spd: tfr.sort(tfr.real(tfr.linalg.eigvals(spd))),
    "eigh": lambda _, spd: tfr.linalg.eigh(spd)[0],
    "eigvalsh": lambda _, spd: tfr.linalg.eigvalsh(spd),
    "qr": lambda _, spd: tfr.matmul(*tfr.linalg.qr(spd)),
    "svd": lambda _, spd: _rebuilt(tfr.linalg.svd(spd)),
    "part": lambda _, spd: _rebuilt(tfr.linalg.svd(spd)),
    "svdvals": lambda _, spd: tfr.linalg.svdvals(spd),
    "dot4": lambda x, _: call(DOT4, x, x),
    "dequantized": lambda x, _: _quantized(x).dequantize(),
    "dequantized_with_zeros": lambda x, _: _quantized(x, zeros=True).dequantize(),
    "joined_matmul": lambda x, _: call(JOINED_MATMUL, _wide(x), _wide(x)[:3], _wide(x)),
    "joined_quantized_matmul": lambda x, _: _a_term(
        call(
            JOINED_QUANTIZED_MATMUL,
            _wide(x),
            *[part for q in (_quantized(x), _quantized(x + 1)) for part in (q.words, q.scales)],
            attrs=(8, 32),
        )
    ),
    "quantized_matmul": lambda x, _: _a_term(_wide(x) @ _quantized(x).mT),
    "quantized_matmul_with_zeros": lambda x, _: _a_term(_wide(x) @ _quantized(x, zeros=True).mT),
    "sparse_matmul": lambda x, _: (_rows(x) @ x[0], _rows(x) @ x.T),
    "transposed_sparse_matmul": lambda x, _: (x[:, 0] @ _rows(x), _rows(x).T @ x),
    "sampled_matmul": _sampled,
    "row_numbers": lambda x, _: x.reshape(-1)[: _rows(x).nnz] * _rows(x).tocoo().row,
    "sort": lambda x, _: (tfr.sort(x, axis=1), tfr.sort(x, axis=0, descending=True)),
    "argsort": lambda x, _: tfr.argsort(x, axis=1, stable=True),
    "partition": lambda x, _: tfr.sort(tfr.partition(x, 2, axis=1)[:, :3], axis=1),
    "argpartition": lambda x, _: tfr.take_along_axis(
        x, tfr.argpartition(x, 2, axis=1)[:, 2:3], axis=1
    ),
    "select": lambda x, _: tfr.quantile(x, tfr.asarray([0.2, 0.7]), axis=1, method="lower"),
    "topk": lambda x, _: tfr.topk(x, 2)[0],
    "searchsorted": lambda x, _: tfr.searchsorted(tfr.sort(x[0]), x[1]),
    "interp": lambda x, _: tfr.interp(x, tfr.sort(x[0]), x[1]),
    "histogram": lambda x, _: tfr.histogram(x, bins=4, range=(-4, 4))[0],
    "copy": lambda x, _: x.to_device("cpu"),
}
# the host draws what NumPy's generators have, and reads files, which are data like any other then; aliases are no ops
# that any device sees, nor are products that only the host has arranged rows for
WITHOUT = frozenset(
    {"draw", "file", "alias", "stop_gradient", "custom_call", "custom_part", "distinct", "depends"}
    | {"arranged_sparse_matmul"}
)
