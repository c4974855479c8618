"""The single path: it finds the plans that the general path makes, and says the same when something fails."""

import operator
import sys

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, rows
from tensorframe.runtime import evaluate as evaluation
from tensorframe.runtime.eager.views import run_view
from tensorframe.runtime.execution import executor
from tensorframe.schedule import capture as captures
from tensorframe.schedule.capture import capture, capture_single


def tensor(*shape, dtype=np.float32):
    return tfr.asarray(np.ones(shape, dtype))


def single_nodes():
    """Return results recorded on computed tensors as one node each, in every form that a key can have."""
    x, y, m, flags = tensor(5000), tensor(5000), tensor(80, 70), tensor(5000, dtype=bool)
    index = tfr.asarray(np.arange(6000) % 5000)
    return [
        *(x + y, y + x, x + x, x + 1, x * 2.0, x * 3.0, x / 0.0, x / -0.0, 1 - x, -x),
        *(tfr.where(flags, x, y), tfr.where(flags, x, x), tfr.minimum(x, y), x[index]),
        *(
            tfr.sum(x),
            tfr.sum(m, axis=0),
            tfr.std(m, axis=1),
            m.T,
            m[3:, ::-1],
            tfr.sort(x),
            m @ m.T,
        ),
        *(tfr.concat([x, x]), tfr.concat([x, y]), tfr.concat([x, y, x]), tfr.pad(x, 1)),
        *(tfr.pad(x, 1, constant_values=-0.0), tfr.arange(5000), tfr.arange(5000, dtype="float32")),
        *(
            tfr.full(5000, -0.0),
            tfr.full(5000, 0.0),
            tfr.full(5000, 1 - 0j),
            tfr.full((50, 90), 0.0),
        ),
    ]


def test_keys_are_those_of_the_general_path():
    compared = 0
    for result in single_nodes():
        request = capture_single(result.node)
        if request is None:
            continue
        compared += 1
        key, leaves = request
        general = capture([result.node])
        assert key == general.key
        assert list(leaves) == general.leaves
    assert compared >= 28


@pytest.mark.parametrize("row", list(rows(Kind.MAP)), ids=str)
def test_elementwise_rows_have_the_keys_of_the_general_path(row):
    (dtype, *_) = sorted(row.accepts, key=str)
    operands = [tensor(5, dtype=bool) for _ in range(row.conditions)]
    operands += [tensor(5, dtype=dtype) for _ in range(row.arity - row.conditions)]
    inputs = tuple([operand.node for operand in operands])
    for chosen in (inputs, inputs[:1] * len(inputs)):
        node = Node(row, chosen, (), (5,), np.dtype(dtype), inputs[0].device, None)
        key, leaves = capture_single(node)
        general = capture([node])
        assert (key, list(leaves)) == (general.key, general.leaves)


def test_what_has_pending_inputs_takes_the_general_path():
    x = tensor(5000)
    assert capture_single((tfr.sin(x) + 1).node) is None
    assert capture_single((x + tfr.arange(5000)).node) is None
    assert capture_single(x.node) is None


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_from_the_second_time_on_nothing_is_captured(device, monkeypatch):
    x = tfr.asarray(np.arange(5000.0), device=device)
    expected = tfr.sin(x).numpy()
    walks = []
    walked = captures._walk
    monkeypatch.setattr(captures, "_walk", lambda *given: walks.append(1) or walked(*given))
    for _ in range(3):
        np.testing.assert_array_equal(tfr.sin(x).numpy(), expected)
    assert not walks
    tfr.sin(tfr.cos(x)).compute()
    assert walks


def test_a_failure_tells_the_line_and_changes_nothing():
    matrix = tfr.asarray(np.eye(80))
    for _ in range(2):
        tfr.linalg.cholesky(matrix).compute()
    wrong = tfr.linalg.cholesky(tfr.asarray(-np.eye(80)))
    with pytest.raises(tfr.errors.TensorFrameError) as caught:
        wrong.compute()
    assert __file__ in caught.value.location
    assert not wrong.is_computed


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_a_plan_of_one_program_is_that_program(device, monkeypatch):
    x = tfr.asarray(np.arange(5000.0), device=device)

    def result():
        return tfr.exp(x) * 2 + 1

    expected = result().numpy()
    runs = []
    executed = executor.execute
    monkeypatch.setattr(
        executor, "execute", lambda *given, **more: runs.append(1) or executed(*given, **more)
    )
    np.testing.assert_array_equal(result().numpy(), expected)
    assert not runs
    with tfr.config.override(validate=True):
        result().compute()
        np.testing.assert_array_equal(result().numpy(), expected)
    assert runs


VIEWS = {
    "slice": lambda m: m[3:, ::-1],
    "element": lambda m: m[5, 7],
    "row": lambda m: m[-1],
    "transpose": lambda m: m.T,
    "flip": tfr.flip,
    "reshape": lambda m: m.reshape((-1, 7)),
    "expand": lambda m: tfr.broadcast_to(m, (3, 80, 70)),
    "diagonal": tfr.linalg.diagonal,
    "of views": lambda m: m[1:].T[::2][None],
    "many": lambda m: m[1:][1:][1:][1:][1:][1:][1:][1:],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_computed_memory_share_it_and_nothing_is_walked(name, monkeypatch):
    array = np.arange(5600.0).reshape(80, 70)
    matrix = tfr.asarray(array.copy())
    monkeypatch.setattr(evaluation, "capture", None)
    monkeypatch.setattr(evaluation, "run_small", None)
    result = VIEWS[name](matrix).compute()
    monkeypatch.undo()
    expected = VIEWS[name](tfr.asarray(array) + 0)
    np.testing.assert_array_equal(result.numpy(), expected.numpy())
    assert not result.ndim or np.shares_memory(result.numpy(), matrix.numpy())


def test_what_is_no_view_of_computed_memory_is_left_to_others():
    matrix = tensor(80, 70)
    assert not run_view((matrix + 1).T.node)
    assert not run_view(matrix.T.reshape(-1).node)  # a copy
    assert not run_view(tfr.linalg.svd(matrix)[1].node)
    assert not run_view((matrix + 1).node)


def test_equal_results_that_are_asked_for_together_have_a_value_each():
    x = tfr.asarray(np.arange(10_000.0), device="numpy")
    for number in range(3, 6):  # smaller ones have plans of their own
        left, right = x + number, x + number
        tfr.compute(left, right)
        assert left.numpy()[1] == right.numpy()[1] == 1 + number


@pytest.mark.parametrize("size", [10, 5000])
def test_numbers_that_are_assigned_are_told_apart_and_take_no_plan(size, monkeypatch):
    def assigned(value, key=slice(2, 5)):
        x = tfr.asarray(np.arange(size, dtype=np.float32))
        x[key] = value
        return x.numpy()

    assigned(1.0), assigned(1.0, 3)
    monkeypatch.setattr(evaluation, "capture", None)  # whoever asked for a plan would fail
    for value in (2.5, -1.0, 0.0, -0.0, np.inf):
        for key in (slice(2, 5), slice(None, None, -2), 3, (Ellipsis, 1)):
            expected = np.arange(size, dtype=np.float32)
            expected[key] = value
            result = assigned(value, key)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


def test_numbers_beside_tensors_are_told_apart():
    x, flags = tensor(5), tensor(5, dtype=bool)
    for value in (0.0, -0.0, np.inf, -np.inf, 3, True):
        result = (tfr.copysign(x, value) + value).numpy()
        np.testing.assert_array_equal(result, np.copysign(np.float32(1), value) + np.float32(value))
    assert (flags & True).tolist() == [True] * 5
    assert tfr.copysign(x, 0.0).tolist() == [1.0] * 5
    assert tfr.copysign(x, -0.0).tolist() == [-1.0] * 5


@pytest.mark.parametrize(
    "key",
    [np.array([4, 1]), np.array([True, False, False, True, False]), np.array([[0], [-1]])],
    ids=["integers", "mask", "integers of two axes"],
)
@pytest.mark.parametrize("as_key", [tfr.asarray, np.copy])
def test_a_pending_selection_does_not_see_later_changes_of_its_key(key, as_key):
    x = tfr.asarray(np.arange(10.0).reshape(5, 2))
    index = as_key(key)
    selected = x[index]
    if isinstance(index, np.ndarray):
        index[...] = 0
    np.testing.assert_array_equal(selected.numpy(), np.arange(10.0).reshape(5, 2)[key])


def calls_of(function, *operands):
    """How many functions of Python it takes to record and compute, once everything that this needs is there.

    The fewest of five calls: a collection of garbage that falls into one runs finalisers of other tests.
    """
    for _ in range(20):
        function(*operands).compute()
    return min(len(names_of_calls(function, *operands)) for _ in range(5))


def names_of_calls(function, *operands):
    names = []
    sys.setprofile(
        lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None
    )
    try:
        function(*operands).compute()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("size", [10, 5000, 30_000])
@pytest.mark.parametrize("number", [1, 2.0, 3.5, -1])
def test_an_op_beside_a_number_takes_few_calls(size, number):
    x = tensor(size)
    assert calls_of(operator.add, x, number) <= 9
    assert calls_of(operator.add, number, x) <= 12


@pytest.mark.parametrize("size", [10, 5000])
def test_an_op_on_tensors_takes_few_calls(size):
    x, y = tensor(size), tensor(size)
    assert calls_of(operator.add, x, y) <= 5
    assert calls_of(operator.eq, x, y) <= 5
    assert calls_of(tfr.exp, x) <= 5


@pytest.mark.parametrize("size", [10, 5000, 40_000])
def test_numbers_that_rules_know_keep_their_meaning_in_every_call(size):
    values = np.linspace(-3, 3, size, dtype=np.float32)
    x = tfr.asarray(values)
    for _ in range(3):
        for number in (0, 1, 2, -0.0, 0.0, np.inf, -np.inf, True, 3.5):
            for operate in (operator.add, operator.mul, operator.sub, operator.truediv):
                with np.errstate(all="ignore"):
                    expected = operate(values, np.float32(number))
                    result = operate(x, number).numpy()
                np.testing.assert_array_equal(result, expected)
                known = ~np.isnan(expected)
                assert (np.signbit(result) == np.signbit(expected))[known].all(), (operate, number)
