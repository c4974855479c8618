"""The namespace `tfr.quantization`: matrices of 4 or 8 bits an element, and products that read them as they are.

A row of a matrix is cut into groups of 32, 64 or 128 neighbours, which share a scale, and perhaps a zero: an element is
`(integer - zero) * scale`. In a product the other factor is quantised as well, by blocks of 32 neighbours to 8 bits, so
that integers are multiplied, at the speed at which memory gives the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import FLOAT, NARROW, SCALE, float32, float64, int32, uint32
from tensorframe.errors import ArgumentError, DTypeError, FileFormatError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import operand, permuted, reshaped
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import holds
from tensorframe.nn.module import Module
from tensorframe.ops.elementwise import EQUAL, MAXIMUM, MINIMUM, ROUND, WHERE
from tensorframe.ops.indexing import GATHER
from tensorframe.ops.quantization import (
    DEQUANTIZED,
    DEQUANTIZED_WITH_ZEROS,
    QUANTIZED_MATMUL,
    QUANTIZED_MATMUL_WITH_ZEROS,
    ZERO,
    in_word,
)

__all__ = ["QuantizedTensor", "dequantize", "load", "quantize"]

BITS, GROUPS = (4, 8), (32, 64, 128)


class QuantizedTensor(Module):
    """A matrix of shape (rows, columns) in integers of 4 or 8 bits, whose groups along a row have a scale each.

    `words` is uint32 of shape (rows, columns * bits / 32): integers from the lowest bits on, those of 8 bits with a
    sign. `scales`, and `zeros` where there are any, are floating, of shape (rows, columns / group); without `zeros`
    those of 4 bits stand for -8 to 7. `q @ x`, `x @ q.mT` and the layers of `tfr.nn` take it; it is a module, so `jit`,
    `to` and `state_dict` know its parts, which are no parameters. ShapeError for parts that do not fit together.

    >>> q = tfr.quantization.quantize(tfr.asarray([[1.0, -2.0] * 16]), bits=4, group=32)
    >>> q.shape, q.words.shape, q.scales.shape
    ((1, 32), (1, 4), (1, 1))
    >>> (q @ tfr.ones(32)).tolist()
    [-16.0]
    """

    _buffers = frozenset({"words", "scales", "zeros"})

    words: Tensor
    scales: Tensor
    zeros: Tensor | None

    def __init__(
        self, words: Any, scales: Any, zeros: Any = None, *, bits: int, group: int
    ) -> None:
        _check_kind(bits, group)
        self.words, self.scales = operand(words), operand(scales)
        self.zeros = None if zeros is None else operand(zeros)
        self.bits, self.group = int(bits), int(group)
        self._check()

    def _check(self) -> None:
        words, scales, zeros = self.words, self.scales, self.zeros
        if words.dtype != uint32 or words.ndim != 2:
            raise DTypeError(
                f"a quantised matrix has words (rows, words) of uint32, got {words.dtype}{[*words.shape]}"
            )
        rows, columns = self.shape
        if columns % self.group:
            raise ShapeError(f"rows of {columns} elements have no groups of {self.group}")
        groups = (rows, columns // self.group)
        for name, part in (("scales", scales), ("zeros", zeros)):
            if part is not None and (part.shape != groups or part.dtype not in NARROW | {float32}):
                raise ShapeError(
                    f"a quantised matrix of shape {self.shape} in groups of {self.group} has {name} of shape {groups}, "
                    f"floating with at most 32 bits; got {part.dtype}{[*part.shape]}"
                )

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of the matrix."""
        rows, words = self.words.shape
        return rows, words * in_word(self.bits)

    @property
    def ndim(self) -> int:
        """Two: it is a matrix."""
        return 2

    @property
    def nbytes(self) -> int:
        """The bytes of all parts."""
        return sum(part.node.nbytes for part in self._parts())

    @property
    def mT(self) -> TransposedMatrix:
        """The transposed matrix, as a factor on the right: `x @ q.mT`."""
        return TransposedMatrix(self)

    T = mT

    def _parts(self) -> list[Tensor]:
        return [self.words, self.scales, *([] if self.zeros is None else [self.zeros])]

    def dequantize(self) -> Tensor:
        """Return the elements, as float32 of the matrix's shape."""
        op = DEQUANTIZED if self.zeros is None else DEQUANTIZED_WITH_ZEROS
        return call(op, *self._parts(), attrs=(self.bits, self.group))

    def rows(self, index: Any) -> Tensor:
        """Return the elements of some rows, by an index tensor of shape (...): (..., columns). No others are read."""
        place = operand(index)
        chosen = [call(GATHER, part, place, attrs=((0,), 0)) for part in self._parts()]
        op = DEQUANTIZED if self.zeros is None else DEQUANTIZED_WITH_ZEROS
        return call(op, *chosen, attrs=(self.bits, self.group))

    def of_features(self, x: Any) -> Tensor:
        """Return `x @ self.mT`: shape (..., columns) gives (..., rows), in the dtype of `x`, float32 or narrower."""
        features = operand(x)
        if features.dtype not in FLOAT - {float64}:
            raise DTypeError(
                f"a product with a quantised matrix takes float32 and narrower floats, got {features.dtype}",
                suggestions=("x.astype(tfr.float32)",),
            )
        if not features.ndim or features.shape[-1] != self.shape[1]:
            raise ShapeError(
                f"matmul: {features.shape} and a quantised matrix of shape {self.shape}, transposed, do not contract: "
                f"its rows have {self.shape[1]} columns"
            )
        op = QUANTIZED_MATMUL if self.zeros is None else QUANTIZED_MATMUL_WITH_ZEROS
        return call(op, features, *self._parts(), attrs=(self.bits, self.group))

    def __matmul__(self, x: Any) -> Tensor:
        """Return the product with a vector, or with matrices of shape (..., columns, n)."""
        right = operand(x)
        if right.ndim < 2:
            return self.of_features(right)
        axes = (*range(right.ndim - 2), right.ndim - 1, right.ndim - 2)
        return permuted(self.of_features(permuted(right, axes)), axes)

    def forward(self, x: Any) -> Tensor:
        """Return `x @ self.mT`."""
        return self.of_features(x)

    def extra_repr(self) -> str:
        """Return the shape, and how it is quantised."""
        zeros = "" if self.zeros is None else ", symmetric=False"
        return f"{self.shape[0]}, {self.shape[1]}, bits={self.bits}, group={self.group}{zeros}"


class TransposedMatrix:
    """A quantised matrix as a right factor, with rows and columns exchanged."""

    __array_ufunc__ = None  # NumPy's arrays leave `x @ q.mT` to this class

    def __init__(self, matrix: QuantizedTensor) -> None:
        self.mT = self.T = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns."""
        rows, columns = self.mT.shape
        return columns, rows

    def __rmatmul__(self, x: Any) -> Tensor:
        return self.mT.of_features(x)

    def dequantize(self) -> Tensor:
        """Return the elements, as float32."""
        return permuted(self.mT.dequantize(), (1, 0))


def _check_kind(bits: Any, group: Any) -> None:
    if isinstance(bits, bool) or bits not in BITS:
        raise ArgumentError(f"quantize: bits is 4 or 8, got {bits!r}")
    if isinstance(group, bool) or group not in GROUPS:
        raise ArgumentError(f"quantize: group is 32, 64 or 128, got {group!r}")


def quantize(w: Any, bits: int = 4, group: int = 32, symmetric: bool = True) -> QuantizedTensor:
    """Return a matrix of shape (rows, columns) in integers of `bits` 4 or 8, with a scale for each `group` of a row.

    Real floating dtypes; `group` is 32, 64 or 128 and divides the columns, or ShapeError. A `symmetric` one has scales
    alone, of which each maps the element of the largest magnitude to the end of the range; otherwise groups have zeros
    too, and the range goes from the smallest element to the largest. Scales are float16, float32 where the device has
    no float16. A group with infinities or NaN becomes NaN. An element is off by half a scale at most, by a whole one at
    the end of a symmetric range.

    >>> w = tfr.linspace(-1, 1, 64).reshape((2, 32))
    >>> float(abs(tfr.quantization.quantize(w, bits=8).dequantize() - w).max()) < 0.005
    True
    """
    _check_kind(bits, group)
    matrix = operand(w)
    if matrix.dtype not in FLOAT:
        raise DTypeError(
            f"quantize: w is real floating, got {matrix.dtype}",
            suggestions=("w.astype(tfr.float32)",),
        )
    if matrix.ndim != 2:
        raise ShapeError(f"quantize: w is a matrix of shape (rows, columns), got {matrix.shape}")
    rows, columns = matrix.shape
    if columns % group:
        divisors = [size for size in GROUPS if columns % size == 0]
        raise ShapeError(
            f"quantize: groups of {group} do not divide rows of {columns} elements",
            suggestions=(f"group={divisors[-1]}",) if divisors else ("leave this matrix as it is",),
        )
    elements = reshaped(matrix.astype(float32, copy=False), (rows, columns // group, group))
    of_scales = SCALE if holds(matrix.device, SCALE) else float32
    lowest, highest = elements.min(axis=-1), elements.max(axis=-1)
    half = 1 << (bits - 1)
    if symmetric:
        extreme = apply(WHERE, highest >= -lowest, highest, lowest)
        scales, zeros = (extreme / -half).astype(of_scales), None
        integers = _rounded(elements, scales)
        low, high = -half, half - 1
    else:
        lowest, highest = apply(MINIMUM, lowest, 0.0), apply(MAXIMUM, highest, 0.0)
        scales = ((highest - lowest) / (2 * half - 1)).astype(of_scales)
        low, high = (0, 2 * half - 1) if bits == 4 else (-half, half - 1)
        zero = (_rounded(-lowest[..., None], scales)[..., 0] + low).clip(low, high)
        zeros = zero.astype(of_scales)
        integers = _rounded(elements, scales) + zero[..., None]
    offset = ZERO[bits] if symmetric else 0
    codes = (integers.clip(low, high) + offset).astype(int32).astype(uint32)
    words = _packed(reshaped(codes, (rows, columns)), bits)
    return QuantizedTensor(words, scales, zeros, bits=bits, group=group)


def load(path: Any, *, device: OnDevice = None) -> dict[str, Tensor | QuantizedTensor]:
    """The tensors of a `.gguf` file by name, matrices that are stored as Q4_0 or Q8_0 as they are, others as Tensor.

    Nothing is read but the header; words and scales are read when they are needed. Errors are those of `tfr.load`.

    >>> from gguf import GGMLQuantizationType, GGUFWriter
    >>> writer = GGUFWriter(folder / "model.gguf", "llama")
    >>> blocks = np.zeros((2, 34), np.uint8)
    >>> writer.add_tensor("w", blocks, raw_dtype=GGMLQuantizationType.Q8_0)
    >>> writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file()
    (None, None, None)
    >>> writer.close()
    >>> tfr.quantization.load(folder / "model.gguf")["w"].shape
    (2, 32)
    """
    from tensorframe.frontend.files.gguf import Blocks, read_gguf
    from tensorframe.frontend.files.gguf_blocks import PARTS
    from tensorframe.frontend.files.leaves import tensor_of
    from tensorframe.frontend.files.paths import GGUF, checked_path

    name, suffix = checked_path(path)
    if suffix != GGUF:
        raise FileFormatError(
            f"quantization.load: {name} is no .gguf file", suggestions=("tfr.load(path)",)
        )
    where = resolve_device(device)
    loaded: dict[str, Tensor | QuantizedTensor] = {}
    for key, reader in read_gguf(name).readers.items():
        if isinstance(reader, Blocks) and reader.kind.name in PARTS and len(reader.shape) == 2:
            words, scales = (tensor_of(reader.part(number), where, "load") for number in (0, 1))
            bits, *_ = PARTS[reader.kind.name]
            loaded[key] = QuantizedTensor(words, scales, bits=bits, group=reader.kind.size)
        else:
            loaded[key] = tensor_of(reader, where, "load")
    return loaded


def dequantize(q: QuantizedTensor) -> Tensor:
    """Return the elements of a quantised matrix, as float32.

    What was rounded stays rounded: this is what products with the matrix compute with.

    >>> q = tfr.quantization.quantize(tfr.ones((1, 32)), bits=8)
    >>> tfr.quantization.dequantize(q).sum().item()
    32.0
    """
    if not isinstance(q, QuantizedTensor):
        raise DTypeError(f"dequantize: takes a QuantizedTensor, got {type(q).__name__}")
    return q.dequantize()


def _rounded(elements: Tensor, scales: Tensor) -> Tensor:
    """Return quotients by the scales of groups, rounded; 0 where a scale is 0."""
    scale = scales.astype(float32)[..., None]
    is_zero = apply(EQUAL, scale, 0.0)
    divisor = apply(WHERE, is_zero, 1.0, scale)
    return apply(ROUND, apply(WHERE, is_zero, 0.0, elements / divisor))


def _packed(codes: Tensor, bits: int) -> Tensor:
    """Return codes of so many bits, of which higher ones are cut off, as words."""
    each = in_word(bits)
    rows, columns = codes.shape
    shifts = operand(np.arange(each, dtype=np.uint32) * np.uint32(bits)).to_device(codes.device)
    lifted = (reshaped(codes, (rows, columns // each, each)) & (2**bits - 1)) << shifts
    words: Tensor = lifted.sum(axis=-1, dtype=uint32)
    return words
