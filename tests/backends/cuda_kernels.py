"""Kernels for CUDA as plans have them, printed and compiled by NVRTC: no GPU is needed for that."""

from collections.abc import Iterable, Iterator

import numpy as np

from tensorframe.backends.cuda.compiler import compiled
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.program import lifted
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.cuda import DIALECT, PRELUDE
from tensorframe.dtypes import ANY
from tensorframe.graph.op import Kind, rows
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import strides_of
from tensorframe.kernel.groups.forms import build_groups
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir import Kernel
from tensorframe.kernel.nest.support import computable

DTYPES = sorted(ANY, key=str)


def regions_of_rows() -> Iterator[Region]:
    """A region for every row that kernels compute on every dtype, and for each form that it may take."""
    for op in rows(Kind.MAP):
        if op.expand is None and op.attributes in ((), ("dtype",)):
            for dtype in DTYPES:
                if dtype in op.accepts:
                    yield from _elementwise(op, dtype)
    for op in rows(Kind.REDUCE, Kind.SCAN):
        for dtype in DTYPES:
            if dtype in op.accepts and computable(op, (dtype,), op.result(dtype)):
                yield from _along(op, dtype)


def _elementwise(op, dtype):
    shape = (5, 7)
    operands = [np.dtype(bool)] * op.conditions + [dtype] * (op.arity - op.conditions)
    for attrs in [(one,) for one in DTYPES] if op.attributes else [()]:
        result = op.result(dtype, *attrs)
        if computable(op, operands, result):
            inputs = tuple([(shape, operand) for operand in operands])
            one = RegionOp(op, attrs, tuple(range(len(inputs))), shape, result)
            yield Region(inputs, (one,), (len(inputs),))


def _along(op, dtype):
    shape = (40, 600)
    choices = [(0,), (1,)] if op.kind is Kind.SCAN else [((0,), False), ((1,), False)]
    for attrs in choices:
        one = RegionOp(op, attrs, (0,), op.shape((shape,), *attrs), op.result(dtype))
        yield Region(((shape, dtype),), (one,), (1,))


def kernels(region: Region, target: Target) -> list[Kernel]:
    """The kernels of a region whose operands are in C order."""
    lowering = Lowering(lifted(region, [shape != () for shape, _ in region.inputs]))
    strides = [strides_of(shape) for shape, _ in lowering.region.inputs]
    built = build_groups(lowering.region, lowering.space, strides, lowering.parts.places, target)
    return [launch.kernel for launch in built.launches]


def printed(regions: Iterable[Region], index: type = np.uint32, lanes: int = 256) -> dict[str, str]:
    """The texts of the kernels of regions, by name."""
    target = Target(lanes, np.dtype(np.float64), np.dtype(index))
    found = {}
    for region in regions:
        for kernel in kernels(region, target):
            text = print_kernel(kernel, DIALECT)
            found[text.name] = text.source
    return found


def compile_all(texts: dict[str, str], architecture: str, together: int = 60) -> str:
    """Compile kernels, many at a time, and return the PTX of all; every name is in the result."""
    names = list(texts)
    results = []
    for start in range(0, len(names), together):
        some = names[start : start + together]
        assert all(texts[name].startswith(PRELUDE) for name in some)
        source = PRELUDE + "".join([texts[name].removeprefix(PRELUDE) for name in some])
        code = compiled(f"kernels_{start}", source, architecture)
        missing = [name for name in some if name.encode() not in code]
        assert not missing, missing
        results.append(code)
    return b"\n".join(results).decode("ascii", "replace")
