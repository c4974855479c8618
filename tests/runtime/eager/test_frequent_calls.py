"""What runs often gets a kernel, or a plan, in place of several calls of NumPy's, and has the same bits."""

from collections.abc import Callable

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.cpu.choice import SLOW
from tensorframe.frontend.dispatch import handle_on
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, rows
from tensorframe.runtime.eager import calls, ufuncs
from tensorframe.runtime.plan_cache import PLANS
from tests.runtime.small_calls import frames, operands

pytestmark = pytest.mark.usefixtures("no_plans")


# functions of several calls of NumPy's, which a plan does sooner
REPEATED = {
    "sum": (tfr.sum, 24),
    "sum of rows": (lambda x: tfr.sum(x.reshape((2, -1)).compute(), axis=1), 60),
    "prod": (tfr.prod, 24),
    "mean": (tfr.mean, 36),
    "var": (tfr.var, 43),
    "max": (tfr.max, 25),
}


@pytest.mark.parametrize("name", REPEATED)
def test_what_runs_often_gets_a_plan_with_the_same_bits(name, monkeypatch):
    function, most = REPEATED[name]
    x, _ = operands(50)
    before = function(x).numpy().tobytes()
    assert len(PLANS) == 0
    monkeypatch.setattr(calls, "_OFTEN", 3)
    PLANS.clear()
    results = [function(x).numpy().tobytes() for _ in range(10)]
    assert len(PLANS) == (name != "max")
    assert set(results) == {before}
    assert frames(lambda: function(x).compute()) <= most


def test_what_runs_often_under_other_options_gets_a_plan_for_these(monkeypatch):
    monkeypatch.setattr(calls, "_OFTEN", 3)
    x, _ = operands(50)
    expected = tfr.sum(x).numpy()
    for _ in range(8):
        with tfr.config.override(threads=1):
            assert tfr.sum(x).numpy() == expected
    assert len(PLANS) == 1
    assert tfr.sum(x).numpy() == expected
    assert len(PLANS) == 1


def test_how_often_is_counted_for_each_shape_and_number_of_axes(monkeypatch):
    monkeypatch.setattr(calls, "_OFTEN", 3)
    for size in (20, 30):
        x, _ = operands(size)
        for _ in range(3):
            tfr.sum(x).compute()
    assert len(PLANS) == 0
    for _ in range(2):
        tfr.sum(x).compute()
    assert len(PLANS) == 1


def test_what_runs_often_fails_as_before(monkeypatch):
    monkeypatch.setattr(calls, "_OFTEN", 1)
    matrix = tfr.asarray(-np.eye(3))
    for _ in range(4):
        with pytest.raises(tfr.errors.TensorFrameError) as caught:
            tfr.linalg.cholesky(matrix).compute()
        assert __file__ in caught.value.location


def often(call: Callable[[], tfr.Tensor], monkeypatch, times: int = 40) -> set[bytes]:
    """The different bits that a call gives while its op runs so often that it gets a kernel; every NaN is the same."""
    monkeypatch.setattr(calls, "_OFTEN", 3)
    monkeypatch.setattr(calls, "_SOONER", 1)
    results = set()
    for _ in range(times):
        values = call().numpy().copy()
        values[values != values] = 0 if values.dtype.kind in "iub" else np.nan
        results.add(values.tobytes())
    return results


SEVERAL = [
    row
    for row in rows(Kind.MAP)
    if not row.attributes and (row.expand is not None or row.name in SLOW)
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("row", SEVERAL, ids=str)
def test_an_op_of_several_calls_gets_a_kernel_with_the_same_bits(row, monkeypatch):
    dtype = np.dtype(np.float32)
    if dtype not in row.accepts:
        pytest.skip("not for floats")
    drawn = np.random.default_rng(0).normal(size=(3, 40)).astype(np.float32) * 3
    drawn[0, :6] = drawn[1, 3:9] = [0, -0.0, np.inf, -np.inf, np.nan, 1]
    taken = [drawn[i] > 0 if i < row.conditions else drawn[i] for i in range(row.arity)]
    operands = tuple([tfr.asarray(values).node for values in taken])
    result = row.result(dtype)

    def call():
        return handle_on(Node(row, operands, (), (40,), result, operands[0].device, None))

    assert len(often(call, monkeypatch)) == 1
    called = [function for function, _ in PLANS.latest_calls[1].values()]
    assert [type(function) for function in called] == [np.ufunc]
    assert not len(PLANS)
    if row.arity < 3:
        assert ufuncs.run_ufunc(call().node)


@pytest.mark.parametrize("is_loaded", [False, True])
def test_the_kernel_comes_sooner_where_llvm_is_loaded(is_loaded, monkeypatch):
    monkeypatch.setattr(calls, "_OFTEN", 16)
    monkeypatch.setattr("tensorframe.backends.cpu.functions.is_loaded", lambda: is_loaded)
    x, y = operands(50)
    for _ in range(5):
        tfr.heaviside(x, y).compute()
    (function,) = [function for function, _ in PLANS.latest_calls[1].values()]
    assert (type(function) is np.ufunc) is is_loaded


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["gelu", "sinc", "rad2deg"])
def test_formulas_get_kernels_on_every_float(name, dtype, monkeypatch):
    x, _ = operands(50)
    x = x.astype(dtype).compute()
    assert len(often(lambda: getattr(tfr, name)(x), monkeypatch)) == 1


def test_a_slow_op_beside_a_number_gets_a_kernel(monkeypatch):
    x, _ = operands(50)
    assert len(often(lambda: tfr.remainder(x, 0.75), monkeypatch)) == 1
    assert frames(lambda: tfr.remainder(x, 0.75).compute()) <= 4
    np.testing.assert_array_equal(
        tfr.remainder(x, 0.5).numpy(), np.remainder(x.numpy(), np.float32(0.5))
    )


def test_a_users_function_gets_a_kernel(monkeypatch):
    @tfr.elementwise
    def bent(x):
        return x * 2 + tfr.exp(-abs(x))

    x, _ = operands(50)
    assert len(often(lambda: bent(x), monkeypatch)) == 1
    assert len(PLANS) == 0
