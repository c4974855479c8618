"""Keys by which CuPy sorts and searches: unsigned integers in the order of any dtype's elements, by the C++ of CuPy."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe import dtypes
from tensorframe.backends.cuda import sorting
from tensorframe.testing.compare import assert_close
from tests.backends.host_gpu import COMPILER, built

DTYPES = sorted(dtypes.BOOL | dtypes.REAL, key=str)
WORDS = {2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


class HostKernel:
    """A kernel of CuPy's as a loop on the processor: its text is compiled as it is."""

    def __init__(self, kernel):
        self._in = kernel.in_params
        self._out = kernel.out_params[0].name
        self._body = kernel.operation

    def __call__(self, array, *numbers):
        size = array.dtype.itemsize
        kinds = [one.ctype.replace("T", WORDS[size]) for one in self._in[1:]]
        scalars = ", ".join(
            f"{kind} {one.name}" for kind, one in zip(kinds, self._in[1:], strict=True)
        )
        source = f"""
            typedef {WORDS[size]} T;
            extern "C" void run(const T* given, T* found, long count, {scalars}) {{
                for (long i = 0; i < count; ++i) {{
                    const T {self._in[0].name} = given[i];
                    T {self._out};
                    {self._body}
                    found[i] = {self._out};
                }}
            }}"""
        found = np.empty_like(array)
        run = ctypes.CDLL(str(built(f"sort_{self._out}_{size}", source))).run
        word = getattr(ctypes, f"c_uint{8 * size}")
        values = [
            ctypes.c_bool(number) if kind == "bool" else word(int(number))
            for kind, number in zip(kinds, numbers, strict=True)
        ]
        run(
            ctypes.c_void_p(array.__array_interface__["data"][0]),
            ctypes.c_void_p(found.__array_interface__["data"][0]),
            ctypes.c_long(array.size),
            *values,
        )
        return found


@pytest.fixture(autouse=True)
def on_the_processor(monkeypatch):
    """NumPy in place of CuPy; the kernels stay CuPy's."""
    if COMPILER is None:
        pytest.skip("kernels are compiled by the system's C++ compiler here")
    for name in ("_FLOAT_KEYS", "_FLOAT_BITS"):
        monkeypatch.setattr(sorting, name, HostKernel(getattr(sorting, name)))
    monkeypatch.setattr(sorting, "cupy", np)


def elements(dtype):
    """Numbers of all sizes, equal ones, and what is special."""
    rng = np.random.default_rng(3)
    if dtype == dtypes.bool_:
        return rng.integers(0, 2, 50).astype(bool)
    if dtype in dtypes.INTEGER:
        ends = np.iinfo(dtype)
        drawn = rng.integers(ends.min, ends.max, 40, dtype, endpoint=True)
        return np.concatenate([drawn, drawn[:5], np.array([ends.min, ends.max, 0], dtype)])
    ends = ml_dtypes.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1, float(ends.max)]
    small = float(ends.smallest_subnormal)
    drawn = rng.normal(scale=5, size=30)
    found = np.array([*special, small, -small, 2 * small, *drawn, *drawn[:5]]).astype(dtype)
    return rng.permutation(found)


def ordinary(x):
    return x.astype(np.float32) if x.dtype == dtypes.bfloat16 else x


def expected(x, *, descending):
    """Positions in order: equal ones as they were, NaN last."""
    keys = [ordinary(x), np.arange(x.size)]
    unknown = keys[0] != keys[0]
    place = sorted(
        range(x.size), key=lambda at: (unknown[at], 0 if unknown[at] else keys[0][at], at)
    )
    if not descending:
        return place
    known = [index for index in place if not unknown[index]]
    groups = {}
    for at in known:
        groups.setdefault(keys[0][at], []).append(at)
    return [at for key in reversed(list(groups)) for at in groups[key]] + place[len(known) :]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_positions_and_values_in_order(dtype, descending, monkeypatch):
    stable = np.argsort
    monkeypatch.setattr(np, "argsort", lambda x, axis: stable(x, axis=axis, stable=True))
    x = elements(dtype)
    wanted = expected(x, descending=descending)
    found = sorting.argsort(x, 0, descending, True)
    assert list(found) == wanted
    assert_close(sorting.sort(x, 0, descending), x[wanted])
    values, positions = sorting.topk(x, 7, 0, descending)
    assert list(positions) == wanted[:7]
    assert_close(values, x[wanted[:7]])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_are_found(dtype, side):
    x = elements(dtype)
    x = x[expected(x, descending=False)]
    found = sorting.searchsorted(x, x, side)
    np.testing.assert_array_equal(found, np.searchsorted(ordinary(x), ordinary(x), side))
