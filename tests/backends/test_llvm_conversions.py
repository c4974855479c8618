"""Conversions in kernels as LLVM text: by value and by bits, half precision on machines with and without it."""

from dataclasses import replace

import numpy as np
import pytest

from tensorframe.kernel.ir import (
    literal,
)
from tensorframe.kernel.ir.formula import (
    bitcast,
    cast,
    where,
)
from tests.backends.kernels import (
    evaluate,
)

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tests.backends.llvm_values import (
    F4,
    FLOATS,
    HALVES,
    INTEGERS,
    MACHINES,
    floats,
    operands_of,
    same,
)


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
def test_conversions_by_value(source):
    results = [*INTEGERS, *FLOATS, "bool"]
    fractions = np.array([0.0, -0.0, 0.75, 1.0, 2.5, 99.99, 127.0], np.float64)
    x = fractions.astype(source) if source in FLOATS else operands_of(source)
    calls = [(result, lambda a, to=result: cast(a, np.dtype(to))) for result in results]
    for machine in MACHINES.values():
        for found, wanted in zip(evaluate(calls, x, machine=machine), results, strict=True):
            same(found, x.astype(wanted))


@pytest.mark.parametrize("source", FLOATS)
def test_floats_reach_the_ends_of_integer_ranges(source):
    gap = 2.0 ** (24 if source == "float32" else 53)
    for wanted in INTEGERS:
        info = np.iinfo(wanted)
        largest = float(info.max) if info.max < gap else float(info.max + 1) * (1 - 1 / gap)
        x = np.array([info.min, largest, -0.5], source)
        (found,) = evaluate([(wanted, lambda a, to=wanted: cast(a, np.dtype(to)))], x)
        same(found, x.astype(wanted))


@pytest.mark.parametrize("source", FLOATS)
def test_what_fits_into_no_integer_spoils_nothing(source):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 5.0], source)
    for wanted in map(np.dtype, INTEGERS):

        def guarded(a, to=wanted):
            return where(abs(a) < 100.0, cast(a, to), literal(7, to))

        (found,) = evaluate([(wanted, guarded)], x)
        assert found.tolist() == [7, 7, 7, 7, 7, 5]


def test_conversions_by_bits():
    x, y = floats("float32"), floats("float64")
    i4, u4, f4, i8, u8, f8 = map(np.dtype, ("i4", "u4", "f4", "i8", "u8", "f8"))
    calls = [
        (i4, lambda a, b: bitcast(a, i4)),
        (u4, lambda a, b: bitcast(a, u4)),
        (f4, lambda a, b: bitcast(bitcast(a, i4), f4)),
        (i8, lambda a, b: bitcast(b, i8)),
        (u8, lambda a, b: bitcast(bitcast(b, i8), u8)),
        (f8, lambda a, b: bitcast(bitcast(b, u8), f8)),
    ]
    for found, wanted in zip(evaluate(calls, x, y), [x, x, x, y, y, y], strict=True):
        np.testing.assert_array_equal(found.view("i1"), wanted.view("i1"))


def without_half(machine):
    """A machine that does not convert half precision itself."""
    return replace(machine, triple="x86_64", features=machine.features - {"+f16c"})


HALF_MACHINES = {
    **MACHINES,
    "elements by bits": without_half(MACHINES["elements"]),
    "vectors by bits": without_half(MACHINES["vectors"]),
}


@pytest.mark.parametrize("machine", HALF_MACHINES)
@pytest.mark.parametrize("name", HALVES)
def test_every_half_precision_number(name, machine):
    machine = HALF_MACHINES[machine]
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[name])
    (wide,) = evaluate([(F4, lambda a: cast(a, F4))], every, machine=machine)
    same(wide, every.astype(np.float32))
    (back,) = evaluate([(HALVES[name], lambda a: cast(a, HALVES[name]))], wide, machine=machine)
    same(back.astype(np.float32), wide)


@pytest.mark.parametrize("machine", HALF_MACHINES)
@pytest.mark.parametrize("name", HALVES)
def test_rounding_to_half_precision(name, machine):
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[name]).astype(np.float32)
    finite = np.unique(every[np.isfinite(every)])
    between = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    beyond = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 65519.0, 65520.0, 1e-45], np.float32)
    x = np.concatenate(
        [
            between,
            np.nextafter(between, np.float32(0)),
            np.nextafter(between, np.float32(9e9)),
            beyond,
        ]
    )
    half = HALVES[name]
    stored, rounded = evaluate(
        [(half, lambda a: cast(a, half)), (F4, lambda a: cast(cast(a, half), F4))],
        x,
        machine=HALF_MACHINES[machine],
    )
    with np.errstate(all="ignore"):
        expected = x.astype(half).astype(np.float32)
    same(stored.astype(np.float32), expected)
    same(rounded, expected)
