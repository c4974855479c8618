"""What the makers' libraries compute, through CuPy: products, transforms, decompositions, orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
import cupyx
import numpy as np

from tensorframe.backends.cuda import sorting, sparse
from tensorframe.backends.cuda.arrays import allocator, from_cupy, to_cupy
from tensorframe.backends.cuda.error_translation import translated_errors
from tensorframe.backends.cuda.queue import CudaQueue
from tensorframe.backends.cuda.tensor_cores import rounding
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Pool
from tensorframe.dtypes import (
    ANY,
    BOOL,
    COMPLEX,
    REAL,
    DType,
    complex_of,
    float16,
    float32,
    float64,
)
from tensorframe.errors import KernelError, LinAlgError, TensorFrameError
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.ops import fourier, linalg
from tensorframe.ops import sorting as orders
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.sparse import SPARSE_MATMUL
from tensorframe.quick_dataclasses import dataclass

Array = Any

_PRECISE = frozenset({float32, float64}) | COMPLEX
# what cuBLAS multiplies; of integers, bfloat16 and bools our own kernels make products
_MULTIPLIED = _PRECISE | {float16}
_ORDERED = BOOL | REAL


@dataclass(frozen=True, slots=True)
class Call:
    """A function of CuPy's arrays and an op's attributes, for operands of some dtypes."""

    function: Callable[..., Array | tuple[Array, ...]]
    dtypes: frozenset[DType] = ANY
    operands: int = 1


def _matmul(left: Array, right: Array) -> Array:
    if left.ndim > 2 and right.ndim == 2 and left.flags.c_contiguous:
        # one tall product instead of many
        tall = cupy.matmul(left.reshape(-1, left.shape[-1]), right)
        return tall.reshape(*left.shape[:-1], right.shape[-1])
    return cupy.matmul(left, right)


def _transform(name: str) -> Callable[..., Array]:
    def transformed(x: Array, sizes: Sequence[int], axes: Sequence[int], norm: str) -> Array:
        if not axes:
            return x.astype(complex_of(x.dtype))
        return getattr(cupy.fft, name)(x, tuple(sizes), tuple(axes), norm)

    return transformed


def _cholesky(x: Array, upper: bool) -> Array:
    if not upper:
        return cupy.linalg.cholesky(x)
    return cupy.linalg.cholesky(_adjoint(x)).swapaxes(-1, -2).conj()


def _adjoint(x: Array) -> Array:
    return x.swapaxes(-1, -2).conj()


def _solve(matrix: Array, right: Array) -> Array:
    if right.ndim == 1:
        return _solve(matrix, right[:, None])[..., 0]
    stack = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    return cupy.linalg.solve(
        cupy.broadcast_to(matrix, stack + matrix.shape[-2:]),
        cupy.broadcast_to(right, stack + right.shape[-2:]),
    )


def _svdvals(x: Array) -> Array:
    return cupy.linalg.svd(x, compute_uv=False)


def _svd(x: Array, full_matrices: bool) -> tuple[Array, ...]:
    return tuple(cupy.linalg.svd(x, full_matrices=full_matrices))


def _qr(x: Array, mode: str) -> tuple[Array, ...]:
    return tuple(cupy.linalg.qr(x, mode=mode))


CALLS: Mapping[Op, Call] = {
    MATMUL: Call(_matmul, _MULTIPLIED, operands=2),
    fourier.FFTN: Call(_transform("fftn"), _PRECISE),
    fourier.IFFTN: Call(_transform("ifftn"), _PRECISE),
    fourier.RFFTN: Call(_transform("rfftn"), _PRECISE),
    fourier.IRFFTN: Call(_transform("irfftn"), _PRECISE),
    orders.SORT: Call(sorting.sort, _ORDERED),
    orders.ARGSORT: Call(sorting.argsort, _ORDERED),
    orders.PARTITION: Call(sorting.partition, _ORDERED),
    orders.ARGPARTITION: Call(sorting.argpartition, _ORDERED),
    orders.TOPK: Call(sorting.topk, _ORDERED),
    # without the positions that sort: those out of bounds would go unnoticed
    orders.SEARCHSORTED: Call(sorting.searchsorted, _ORDERED, operands=2),
    linalg.CHOLESKY: Call(_cholesky, _PRECISE),
    linalg.DET: Call(cupy.linalg.det, _PRECISE),
    linalg.SLOGDET: Call(lambda x: tuple(cupy.linalg.slogdet(x)), _PRECISE),
    linalg.INV: Call(cupy.linalg.inv, _PRECISE),
    linalg.SOLVE: Call(_solve, _PRECISE, operands=2),
    linalg.EIGH: Call(lambda x: tuple(cupy.linalg.eigh(x)), _PRECISE),
    linalg.EIGVALSH: Call(cupy.linalg.eigvalsh, _PRECISE),
    linalg.QR: Call(_qr, _PRECISE),
    linalg.SVD: Call(_svd, _PRECISE),
    linalg.SVDVALS: Call(_svdvals, _PRECISE),
    SPARSE_MATMUL: Call(sparse.product, _PRECISE, operands=4),
}


def has_call(op: Op, operands: Sequence[DType]) -> bool:
    """Whether a library computes an op on operands of these dtypes."""
    call = CALLS.get(op)
    return call is not None and call.operands == len(operands) and call.dtypes.issuperset(operands)


def is_called(region: Region) -> bool:
    """Whether a library computes the call of a region, as its operands are."""
    op = region.ops[0]
    if op.op is SPARSE_MATMUL:
        return sparse.takes(region)
    return has_call(op.op, [region.dtype_of(source) for source in op.inputs])


class LibraryProgram:
    """Runs an op by a library, on the queue's stream and in our memory."""

    quiet = True

    def __init__(self, region: Region, queue: CudaQueue, pool: Pool) -> None:
        (self._one,) = region.ops
        self._region = region
        self._queue = queue
        self._allocate = allocator(pool, queue.index)

    def __call__(self, inputs: Sequence[Any], _buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the result; a tuple where the op gives several."""
        op, queue = self._one, self._queue
        function = CALLS[op.op].function
        with (
            queue.lock,
            queue.for_libraries(),
            cupy.cuda.using_allocator(self._allocate),
            self._precision(),
        ):
            arrays = [self._array(source, inputs[source]) for source in op.inputs]
            try:
                with translated_errors, cupyx.errstate(linalg="raise"):
                    result = function(*arrays, *op.attrs)
            except np.linalg.LinAlgError as error:
                raise self._failed(error, arrays[0].shape) from error
            except (MemoryError, TensorFrameError):
                raise
            except Exception as error:
                raise KernelError(f"{op.op.name}, by CuPy: {error}") from error
            if type(result) is tuple:
                return (tuple([self._adopt(part) for part in result]),)
            self._check(result)
            return (self._adopt(result),)

    def _precision(self) -> AbstractContextManager[None]:
        """Return what has products of float32 computed as the device's settings say."""
        product = self._one.op is MATMUL and self._one.dtype == float32
        return rounding(allowed=self._queue.tensor_cores) if product else nullcontext()

    def _array(self, index: int, value: Any) -> Array:
        if isinstance(value, DeviceArray):
            return to_cupy(value, self._queue)
        return cupy.asarray(np.asarray(value, self._region.inputs[index][1]))

    def _adopt(self, result: Array) -> DeviceArray:
        array = from_cupy(result, self._queue)
        if array is None:
            array = from_cupy(cupy.ascontiguousarray(result), self._queue)
        assert array is not None
        return array

    def _check(self, result: Array) -> None:
        op = self._one
        if result.dtype != op.dtype or tuple(result.shape) != op.shape:
            got, wanted = f"{result.dtype}{[*result.shape]}", f"{op.dtype}{[*op.shape]}"
            raise KernelError(f"{op.op.name}, by CuPy: {got} instead of {wanted}")

    def _failed(self, error: Exception, shape: tuple[int, ...]) -> LinAlgError:
        name = self._one.op.name
        hint = "tfr.isfinite(A) to find infinities and NaN"
        message = f"{name}: {str(error).strip().lower()} (operand of shape {shape})"
        return LinAlgError(message, suggestions=(hint,))
