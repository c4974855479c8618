"""Calls: one op on computed tensors is one prepared call, in few frames of Python, and means what a plan means."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend import dispatch
from tensorframe.frontend.dispatch import apply
from tensorframe.ops.elementwise import WHERE
from tensorframe.runtime import plan_cache
from tensorframe.runtime.execution.events import Moment, listen
from tensorframe.runtime.plan_cache import PLANS
from tests.runtime.small_calls import PLANNED, SIZES, frames, operands

pytestmark = pytest.mark.usefixtures("no_plans")


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
    """A power that has a kernel since small tensors needed one is its base for an exponent of one."""
    few, many = operands(20)[0], operands(10_000)[0]
    for _ in range(20):
        (few**2.5).compute()
    for _ in range(3):
        (many**2.5).compute()
        np.testing.assert_array_equal((many**1).numpy(), many.numpy())
    functions = {call[0] for call in PLANS.calls(tfr.config.get()).values() if call[1] is None}
    assert len(PLANS) == 1  # of the first power
    assert functions


def test_calls_are_forgotten_with_their_plans_and_are_not_too_many(monkeypatch):
    x, _ = operands(100_000)
    options = tfr.config.get()
    for _ in range(3):
        tfr.exp(x).compute()
    assert len(PLANS.calls(options)) == 1
    PLANS.clear()
    assert not PLANS.calls(options)
    monkeypatch.setattr(plan_cache, "_MOST_CALLS", 5)
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


@pytest.mark.parametrize("create", [tfr.zeros, tfr.ones, lambda n: tfr.full(n, 2.5), tfr.arange])
def test_a_source_is_one_call(create):
    x = create(50).compute()
    np.testing.assert_array_equal(create(50).numpy(), x.numpy())
    y = create(50)
    y[0] = 7
    assert y.tolist()[0] == 7
    assert create(50).tolist() == x.tolist()
    assert frames(lambda: create(50).compute()) <= 45


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


def assigned(x, key, value):
    x[key] = value
    return x


# selections and assignments by positions: one node each, and one call
SELECTED = {
    "x[i]": (lambda x, m, i: x[i], 23),
    "m[i]": (lambda x, m, i: m[i], 23),
    "x[i] = 2": (lambda x, m, i: assigned(x, i, 2), 55),
    "m[i] = 2": (lambda x, m, i: assigned(m, i, 2), 55),
    "m[:, i] = 2": (lambda x, m, i: assigned(m, (slice(None), i), 2), 79),
    "m[i, i] = 2": (lambda x, m, i: assigned(m, (i, i), 2), 98),
    "x[3] = 2": (lambda x, m, i: assigned(x, 3, 2), 36),
    "concat": (lambda x, m, i: tfr.concat([x, x]), 30),
}


@pytest.mark.parametrize("name", SELECTED)
def test_selections_take_few_frames_and_no_plan(name):
    function, most = SELECTED[name]
    i = tfr.asarray([1, 3, -1])

    def operands_of():
        x, _ = operands(50)
        return x, tfr.reshape(x, (5, 10)).compute(), i

    given = operands_of()
    assert frames(lambda: function(*given).compute()) <= most
    assert len(PLANS) == 0
    with tfr.config.override(**PLANNED):
        planned = function(*operands_of()).numpy()
    assert function(*operands_of()).numpy().tobytes() == planned.tobytes()


def test_a_number_goes_wherever_positions_point_to():
    """Also where NumPy puts the axes of positions in front of those between them."""
    i, j = np.array([0, 2]), np.array([[1], [-1]])
    for key in ((i,), (slice(None), i), (i, slice(None), j), (slice(1, None), i, j), (j, 0, i)):
        values = np.arange(60.0).reshape(3, 4, 5)
        x = tfr.asarray(values)
        for number in (7.5, -0.0, 2):
            x[key] = number
            values[key] = number
            np.testing.assert_array_equal(x.numpy(), values)
    x = tfr.asarray([1.0, 2.0])
    with pytest.raises(tfr.errors.IndexingError) as caught:
        assigned(x, tfr.asarray([0, 5]), 1.0).compute()
    assert __file__ in caught.value.location
    assert x.tolist() == [1.0, 2.0]
