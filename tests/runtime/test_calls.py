"""Calls: one op on computed tensors is one prepared call, in few frames of Python, and means what a plan means."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import silence
from tensorframe.backends.cpu.choice import SLOW
from tensorframe.frontend import dispatch
from tensorframe.frontend.dispatch import apply, handle_on
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, rows
from tensorframe.ops.elementwise import WHERE
from tensorframe.runtime import cache, ready, single
from tensorframe.runtime.cache import PLANS
from tensorframe.runtime.events import Moment, listen
from tensorframe.schedule import capture as captures

PLANNED = {"small_size": 0, "small_nodes": 0}
SIZES = [10, 10_000]


@pytest.fixture(autouse=True)
def no_plans():
    PLANS.clear()
    yield
    PLANS.clear()


def operands(size):
    generator = np.random.default_rng(0)
    return [tfr.asarray(generator.standard_normal(size).astype(np.float32)) for _ in range(2)]


def frames(call: Callable[[], object]) -> int:
    """The functions of Python that a call runs, once it has run often; one in thousands looks at what was recorded."""
    for _ in range(40):
        call()
    return min(_frames(call) for _ in range(3))


def _frames(call: Callable[[], object]) -> int:
    count = -2  # those of the test itself

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


# operator or function, its node, `compute`, and the call; a number has its own look-up
SINGLE = {
    "-x": (lambda x, y: -x, 4),
    "x + y": (lambda x, y: x + y, 4),
    "x * 2.5": (lambda x, y: x * 2.5, 5),
    "maximum": (tfr.maximum, 3),
    "exp": (lambda x, y: tfr.exp(x), 4),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SINGLE)
def test_one_op_takes_few_frames(name, size):
    function, most = SINGLE[name]
    x, y = operands(size)
    assert frames(lambda: function(x, y).compute()) <= most


@pytest.mark.parametrize("size", SIZES)
def test_an_exact_op_on_some_thousand_elements_needs_no_plan(size):
    x, y = operands(size)
    results = [(x - y).numpy() for _ in range(3)]
    assert len(PLANS) == 0
    with tfr.config.override(**PLANNED):
        planned = (x - y).numpy()
        assert len(PLANS) == 1
    assert {result.tobytes() for result in results} == {planned.tobytes()}


def test_whoever_listens_hears_of_the_plan():
    x, y = operands(10_000)
    (x - y).compute()
    started = []
    with listen(lambda event: started.append(event.moment)):
        (x - y).compute()
    assert started.count(Moment.PLAN_STARTED) == 1


# what calls must not take for each other: keys that differ in one thing alone
ALIKE = [
    lambda x, y: x + x,
    lambda x, y: x + y,
    lambda x, y: y + x,
    lambda x, y: x + 0.0,
    lambda x, y: x + -0.0,
    lambda x, y: x + 1,
    lambda x, y: x + y[0],
    lambda x, y: 1 + x,
    lambda x, y: x**2,
    lambda x, y: x**3,
    lambda x, y: x**2.5,
    lambda x, y: tfr.where(x > 0, x, x),
    lambda x, y: tfr.where(x > 0, x, y),
    lambda x, y: tfr.where(x > 0, x, 2),
    lambda x, y: tfr.concat([x, y]),
    lambda x, y: tfr.concat([x, x]),
    lambda x, y: tfr.concat([x, y, x]),
    lambda x, y: tfr.roll(x, 1),
    lambda x, y: tfr.roll(x, 2),
    lambda x, y: tfr.full(x.shape, 0.0),
    lambda x, y: tfr.full(x.shape, -0.0),
    lambda x, y: tfr.sum(x),
    lambda x, y: tfr.sum(x, keepdims=True),
    lambda x, y: x.astype("int32"),
    lambda x, y: x.astype("float64"),
]


@pytest.mark.parametrize("size", [*SIZES, 100_000])
def test_calls_are_not_taken_for_each_other(size):
    x, y = operands(size)
    tfr.compute(*(tensors := [x * 0 - 0.0, y[0]]))
    with tfr.config.override(**PLANNED):
        expected = [function(x, y).numpy().tobytes() for function in ALIKE]
    for _ in range(3):
        assert [function(x, y).numpy().tobytes() for function in ALIKE] == expected
    zero = tensors[0]
    assert np.signbit((zero + -0.0).numpy()[x.numpy() < 0]).all()
    assert not np.signbit((zero + 0.0).numpy()).any()


def test_numbers_beside_a_tensor_are_those_of_the_call():
    for size in (*SIZES, 100_000):
        x, _ = operands(size)
        for number in (0.0, 2, 1, 7.5, 2, -1.5, 0):
            np.testing.assert_array_equal((x * number).numpy(), x.numpy() * np.float32(number))


def test_a_number_that_rules_know_is_left_to_the_plan():
    """A power that has a kernel since small tensors needed one is a product for an exponent of two."""
    few, many = operands(20)[0], operands(10_000)[0]
    for _ in range(20):
        (few**2.5).compute()
    for _ in range(3):
        (many**2.5).compute()
        result = many**2
        np.testing.assert_array_equal(result.numpy(), many.numpy() * many.numpy())
    functions = {call[0] for call in PLANS.calls(tfr.config.get()).values() if call[1] is None}
    assert len(PLANS) == 1  # of the square
    assert functions


def test_calls_are_forgotten_with_their_plans_and_are_not_too_many(monkeypatch):
    x, _ = operands(100_000)
    options = tfr.config.get()
    for _ in range(3):
        tfr.exp(x).compute()
    assert len(PLANS.calls(options)) == 1
    PLANS.clear()
    assert not PLANS.calls(options)
    monkeypatch.setattr(cache, "_MOST_CALLS", 5)
    for size in range(1, 20):
        (-x[:size].compute()).compute()
        assert 0 < len(PLANS.calls(options)) <= 5


def test_a_plan_that_is_dropped_leaves_no_call():
    with tfr.config.override(small_size=0, plan_cache=1):
        x, y = operands(50)
        for _ in range(3):
            for function in (tfr.exp, tfr.sin, tfr.cos):
                result = function(x).compute()
        assert len(PLANS) == 1
        assert len(PLANS.calls(tfr.config.get())) <= 1
        del result, y


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", SIZES)
def test_numpy_warns_of_nothing_and_keeps_its_state(size):
    x = tfr.asarray(np.full(size, 3e38, np.float32))
    with np.errstate(over="raise"):
        for _ in range(3):
            (x * 10).compute()
            (x * x).compute()
        assert np.geterr()["over"] == "raise"
        with pytest.raises(FloatingPointError):
            x.numpy() * np.float32(10)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("known", [True, False])
def test_silence_works_with_and_without_numpys_variable(known, monkeypatch):
    if not known:
        monkeypatch.setattr(silence, "_found", lambda: None)
    begin, silent, end = silence._functions()
    before = np.geterr()
    huge = np.full(3, 3e38, np.float32)
    token = begin(silent)
    try:
        assert np.isinf(huge * huge).all()
    finally:
        end(token)
    assert np.geterr() == before
    assert silence._functions() is not None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("known", [True, False])
def test_functions_called_silently_leave_numpys_state_alone(known, monkeypatch):
    if not known:
        monkeypatch.setattr(silence, "_found", lambda: None)
    silently = silence._runner()
    huge = np.full(3, 3e38, np.float32)
    with np.errstate(over="raise"):
        assert np.isinf(silently(np.multiply, huge, huge)).all()
        with pytest.raises(FloatingPointError):
            huge * huge


def test_a_call_inside_a_call_has_another_way():
    x, y = operands(10)
    expected = (x - y).numpy()
    # as in another thread, or a signal's handler
    inside = silence.silently((x - y).numpy)
    assert inside.tobytes() == expected.tobytes()


def watched(name):
    """What looks at every step."""
    return {
        "listener": lambda: listen(lambda _event: None),
        "profile": tfr.profile,
        "validate": lambda: tfr.config.override(validate=True),
        "check_nan": lambda: tfr.config.override(check_nan=True),
    }[name]()


@pytest.mark.parametrize("name", ["listener", "profile", "validate", "check_nan"])
def test_who_looks_on_is_told_of_what_was_ready_before(name, monkeypatch):
    x, y = operands(10)
    for _ in range(3):
        (x - y).compute()
    assert ready.run_ready((x - y).node)
    with watched(name):
        (x + y).compute()  # would be remembered here, if it were
        assert not ready.run_ready((x - y).node)
        assert not ready.run_ready((x + y).node)
    (x - y).compute()
    assert ready.run_ready((x - y).node)


def test_what_is_ready_is_forgotten_with_the_options_and_is_not_too_much(monkeypatch):
    x, y = operands(10)
    (x - y).compute()
    assert PLANS.ready[1]
    with tfr.config.override(fuse=False):
        (x - y).compute()
        assert not ready.run_ready((x * y).node)
    PLANS.clear()
    assert not PLANS.ready[1]
    monkeypatch.setattr(cache, "_MOST_CALLS", 4)
    for size in range(1, 20):
        x, y = operands(size)
        (x - y).compute()
        assert len(PLANS.ready[1]) <= 4


def test_what_is_ready_keeps_its_inputs_while_a_gradient_is_recorded():
    def cubed(x):
        square = x * x
        square.compute()
        return tfr.sum(square * x)

    x = tfr.asarray([1.0, 2.0])
    for _ in range(3):
        (x * x).compute()
        assert tfr.grad(cubed)(x).tolist() == [3.0, 12.0]


def test_a_failure_of_what_is_ready_is_explained_and_changes_nothing(monkeypatch):
    x, y = operands(10)
    for _ in range(3):
        (x - y).compute()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ready, "silently", interrupted)
    pending = x - y
    with pytest.raises(tfr.errors.CancelledError):
        pending.compute()
    assert not pending.is_computed

    def failing(*_):
        raise MemoryError

    monkeypatch.setattr(ready, "silently", failing)
    assert pending.numpy().tobytes() == (x.numpy() - y.numpy()).tobytes()


def test_numpys_state_is_found_without_a_name_of_its():
    assert silence._found() is not None


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
    monkeypatch.setattr(single, "_OFTEN", 3)
    PLANS.clear()
    results = [function(x).numpy().tobytes() for _ in range(10)]
    assert len(PLANS) == (name != "max")
    assert set(results) == {before}
    assert frames(lambda: function(x).compute()) <= most


def test_what_runs_often_under_other_options_gets_a_plan_for_these(monkeypatch):
    monkeypatch.setattr(single, "_OFTEN", 3)
    x, _ = operands(50)
    expected = tfr.sum(x).numpy()
    for _ in range(8):
        with tfr.config.override(threads=1):
            assert tfr.sum(x).numpy() == expected
    assert len(PLANS) == 1
    assert tfr.sum(x).numpy() == expected
    assert len(PLANS) == 1


def test_how_often_is_counted_for_each_shape_and_number_of_axes(monkeypatch):
    monkeypatch.setattr(single, "_OFTEN", 3)
    for size in (20, 30):
        x, _ = operands(size)
        for _ in range(3):
            tfr.sum(x).compute()
    assert len(PLANS) == 0
    for _ in range(2):
        tfr.sum(x).compute()
    assert len(PLANS) == 1


def test_what_runs_often_fails_as_before(monkeypatch):
    monkeypatch.setattr(single, "_OFTEN", 1)
    matrix = tfr.asarray(-np.eye(3))
    for _ in range(4):
        with pytest.raises(tfr.errors.TensorFrameError) as caught:
            tfr.linalg.cholesky(matrix).compute()
        assert __file__ in caught.value.location


@pytest.mark.parametrize("create", [tfr.zeros, tfr.ones, lambda n: tfr.full(n, 2.5), tfr.arange])
def test_a_source_is_one_call(create):
    x = create(50).compute()
    np.testing.assert_array_equal(create(50).numpy(), x.numpy())
    y = create(50)
    y[0] = 7
    assert y.tolist()[0] == 7
    assert create(50).tolist() == x.tolist()
    assert frames(lambda: create(50).compute()) <= 45


# parts of a computed tensor in host memory, and views of it
VIEWED = {
    "x[3]": (lambda x, m: x[3], 7),
    "m[-1]": (lambda x, m: m[-1], 7),
    "m[1, 2]": (lambda x, m: m[1, 2], 7),
    "x[1:-1]": (lambda x, m: x[1:-1], 20),
    "flip": (lambda x, m: tfr.flip(x), 17),
    "transpose": (lambda x, m: tfr.transpose(m), 16),
    "reshape": (lambda x, m: tfr.reshape(m, (-1,)), 25),
}


@pytest.mark.parametrize("name", VIEWED)
def test_views_take_few_frames(name):
    function, most = VIEWED[name]
    matrix = tfr.asarray(np.arange(300.0).reshape(15, 20))
    vector = tfr.asarray(np.arange(300.0))
    assert frames(lambda: function(vector, matrix).compute()) <= most
    part = function(vector, matrix).numpy()
    assert any(np.shares_memory(part, whole.numpy()) for whole in (vector, matrix))


def test_a_part_of_what_is_computed_is_computed_and_no_part_of_anything_else():
    matrix = tfr.asarray(np.arange(6.0).reshape(2, 3))
    assert matrix[1].is_computed
    assert matrix[-1, 0].is_computed
    assert not matrix[1:].is_computed
    pending = matrix + 1
    assert not pending[1].is_computed
    assert pending[1].tolist() == [4.0, 5.0, 6.0]
    with pytest.raises(tfr.errors.IndexingError):
        matrix[2]
    row = matrix[0]
    row[0] = 7
    assert matrix.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert row.tolist() == [7, 1, 2]


def test_views_of_computed_memory_are_as_good_as_computed_inputs(monkeypatch):
    """An op on slices and transposes is one call, and the views are computed on the way, which costs nothing."""
    x, _ = operands(10_000)
    matrix = tfr.asarray(np.arange(10_000.0, dtype=np.float32).reshape(100, 100))
    functions = [
        lambda: x[::2] + x[1::2],
        lambda: matrix.T + matrix,
        lambda: tfr.concat([x[3:], x[:3]]),
        lambda: tfr.sum(matrix[::-1].T, axis=0),
        lambda: x[1:] * 2.0,
    ]
    with tfr.config.override(**PLANNED, validate=True):  # slices are part of the plan
        expected = [function().numpy().tobytes() for function in functions]
    for _ in range(2):
        assert [function().numpy().tobytes() for function in functions] == expected
    walked = []
    walk = captures._walk
    monkeypatch.setattr(captures, "_walk", lambda *given: walked.append(1) or walk(*given))
    assert [function().numpy().tobytes() for function in functions] == expected
    assert not walked


def test_views_beside_what_is_pending_take_no_memory():
    """Those that are held are there before the plan, and look into the memory of what they are views of."""
    x, y = operands(100_000)
    view, wide = x[1:], tfr.broadcast_to(y[:1], (100_000,))
    (view + (y * 2)[1:]).compute()
    (x + wide).compute()
    assert np.shares_memory(view.node.storage.handle, x.node.storage.handle)
    assert not wide.is_computed or wide.node.storage.handle.strides == (0,)


def often(call: Callable[[], tfr.Tensor], monkeypatch, times: int = 40) -> set[bytes]:
    """The different bits that a call gives while its op runs so often that it gets a kernel; every NaN is the same."""
    monkeypatch.setattr(single, "_OFTEN", 3)
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
        assert ready.run_ready(call().node)


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


# functions that are one call of a ufunc, whoever runs them
ONE_CALL = {
    "dot": (tfr.dot, 6),
    "inner": (tfr.inner, 5),
    "vdot": (tfr.vdot, 5),
    "vecdot": (tfr.vecdot, 5),
    "matmul": (tfr.matmul, 5),
    "rint": (lambda x, y: tfr.rint(x), 8),
    "round": (lambda x, y: tfr.round(x), 7),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ONE_CALL)
def test_what_is_one_call_of_numpys_takes_few_frames(name, size):
    function, most = ONE_CALL[name]
    x, y = operands(size)
    assert frames(lambda: function(x, y).compute()) <= most
    with tfr.config.override(**PLANNED):
        planned = function(x, y).numpy()
    assert function(x, y).numpy().tobytes() == planned.tobytes()


@pytest.mark.parametrize("name", ["dot", "inner", "vdot", "vecdot", "matmul"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int32", "bool"])
def test_products_of_vectors_have_the_dtype_and_errors_that_they_had(name, dtype):
    function = getattr(tfr, name)
    values = [np.arange(1, 6).astype(dtype), np.arange(5).astype(dtype)]
    x, y = map(tfr.asarray, values)
    expected = getattr(np, name)(*values)
    assert function(x, y).dtype == expected.dtype
    assert function(x, y).numpy() == expected
    with pytest.raises(tfr.errors.ShapeError):
        function(x, tfr.asarray(values[1][:3])).compute()
    with tfr.autocast("bfloat16"):
        mixed = function(x, y).dtype
    assert mixed == (tfr.bfloat16 if dtype in ("float16", "float32") else expected.dtype)


# choices, which are recorded without promoting what needs no promotion
CHOICES = {
    "where": (lambda x, y, c: tfr.where(c, x, y), 14),
    "where beside numbers": (lambda x, y, c: tfr.where(c, x, 0.5), 15),
    "where before numbers": (lambda x, y, c: tfr.where(c, 2, x), 15),
    "nan_to_num": (lambda x, y, c: tfr.nan_to_num(x), 78),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_take_few_frames(name):
    function, most = CHOICES[name]
    x, y = operands(10)
    condition = (x > 0).compute()
    assert frames(lambda: function(x, y, condition).compute()) <= most


def test_choices_promote_and_broadcast_as_before():
    x, y = operands(6)
    c, z = (x > 0).compute(), x.astype("float64").compute()
    i, row = tfr.asarray([1, 2, 3, 4, 5, 6]), tfr.asarray(np.ones((2, 6), np.float32))
    one, true = tfr.asarray(np.float32(1.5)), tfr.asarray(True)
    given = [
        *((c, x, y), (c, x, z), (c, i, x), (c, x, 1), (c, 1.5, i), (c, 1, 2.5), (c, True, c)),
        *((c, c, 3), (c, row, x), (c, one, x), (c, x, one), (true, x, 0.5), (c, one, 2)),
        *((row > 0, x, y), (i, x, y), (c, i, 2.5), (c, 1j, x), (c, x.numpy(), y), (c, c, c)),
    ]
    for condition, first, second in given:
        chosen = apply(WHERE, condition, first, second)
        expected = dispatch._general(WHERE, condition, first, second)
        assert (chosen.shape, chosen.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(chosen.numpy(), expected.numpy())
    with pytest.raises(tfr.errors.ShapeError):
        tfr.where(c, x, tfr.asarray([1.0, 2.0]))
    with pytest.raises(tfr.errors.OutOfRangeError):
        tfr.where(c, i.astype("int8"), 300)
