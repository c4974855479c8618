"""What `jit` refuses while it records: values that no call has given yet, named with the line that asks for them."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import TensorFrameError, TracingError


@pytest.fixture
def x():
    return tfr.asarray(np.arange(6.0, dtype=np.float32).reshape(2, 3))


def asked(x):
    return 1 if x > 0 else 2


def looped(x):
    while x.sum() < 10:
        x = x * 2
    return x


# how values of a tensor are read
READS = {
    "bool": lambda x: bool(x[0, 0] > 0),
    "if": lambda x: asked(x.sum()),
    "while": looped,
    "and": lambda x: x.sum() > 0 and x,
    "in": lambda x: 1.0 in x,
    "int": lambda x: int(x[0, 0]),
    "float": lambda x: float(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "index": lambda x: [1, 2][tfr.argmax(x)],
    "range": lambda x: list(range(tfr.argmax(x))),
    "item": lambda x: x[0, 0].item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "asarray": np.asarray,
    "math": lambda x: math.sqrt(x.sum()),
    "iteration": lambda x: [row.sum() for row in x],
    "unpacking": lambda x: operator.add(*x),
    "dlpack": np.from_dlpack,
    "tobytes": lambda x: x.tobytes(),
    "compute": lambda x: x.sum().compute(),
    "computed together": lambda x: tfr.compute(x, x + 1),
    "mask": lambda x: x[x > 0],
    "mask of some axes": lambda x: x[:, x[0] > 0],
    "nonzero": tfr.nonzero,
    "where": lambda x: tfr.where(x > 1),
    "unique": tfr.unique_values,
    "repeat": lambda x: tfr.repeat(x, x[0].astype("int64"), axis=1),
    "histogram": lambda x: tfr.histogram(x, "auto"),
    "deep inside": lambda x: float(tfr.softmax(tfr.exp(x) @ x.T).sum()),
    "shape": lambda x: x.reshape(tfr.argmax(x), -1),
    "saved": lambda x: tfr.save("never.npy", x),
}


def named_x(function):
    """Return a function whose argument has the name that messages are to have."""
    return lambda x: function(x)  # noqa: PLW0108 - for its argument's name


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("size", ["small", "planned"])
def test_values_of_an_argument_are_not_known(name, size, x):
    options = {"small_size": 0, "small_nodes": 0} if size == "planned" else {}
    jitted = tfr.jit(named_x(READS[name]))
    with tfr.config.override(**options), pytest.raises(TracingError) as caught:
        jitted(x)
    error = caught.value
    assert isinstance(error, TypeError)
    assert isinstance(error, TensorFrameError)
    assert "depend on the argument x" in str(error)
    assert f"{__file__}, line" in error.location
    assert "tfr.where" in str(error)
    assert "static_argnames" in str(error)
    assert "take this part out" in str(error)
    assert jitted.cache_info().kept == 0
    # nothing was broken
    assert x.sum().item() == 15.0


# how the value of a number is read
NUMBERS = {
    "if": lambda n: 1 if n else 2,
    "comparison": lambda n: 1 if n > 1 else 2,
    "chained comparison": lambda n: 0 < n < 3,
    "not": lambda n: not n,
    "int": int,
    "float": float,
    "complex": complex,
    "range": lambda n: list(range(n)),
    "index": lambda n: [1, 2, 3][n],
    "list slice": lambda n: [1, 2, 3][:n],
    "repeated": lambda n: [0] * n,
    "math": math.sqrt,
    "minimum": lambda n: min(n, 2),
    "NumPy's function": np.sqrt,
    "NumPy's number": lambda n: np.float32(2) * n,
    "NumPy's array": lambda n: n + np.arange(3),
    "NumPy's conversion": lambda n: np.asarray([n, 2]),
    "shape": tfr.zeros,
    "reshape": lambda n: tfr.ones(6).reshape(n, -1),
    "axis": lambda n: tfr.sum(tfr.ones((2, 3, 4)), axis=n),
    "slice": lambda n: tfr.ones(3)[:n],
    "times": lambda n: tfr.roll(tfr.ones(3), n),
    "arange": tfr.arange,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_value_of_a_number_is_not_known(name):
    def used(n):
        return NUMBERS[name](n)

    jitted = tfr.jit(used)
    with pytest.raises(TracingError) as caught:
        jitted(2)
    assert "depend on the argument n" in str(caught.value)
    assert __file__ in caught.value.location
    assert jitted.cache_info().kept == 0

    @tfr.jit(static_argnames="n")
    def static(n):
        used(n)

    static(2)


def test_the_message_names_the_line_and_the_argument_s_place():
    @tfr.jit
    def fit(parameters, *batches, rate):
        if batches[1]["y"] > 0:  # asked here
            return parameters
        return None

    with pytest.raises(TracingError) as caught:
        fit({"w": 1.0}, 2.0, {"x": 3.0, "y": tfr.asarray(1.0)}, rate=0.5)
    text = str(caught.value)
    assert "test_the_message_names_the_line_and_the_argument_s_place.<locals>.fit: values" in text
    assert "the argument batches[1]['y'] are not known" in text
    assert "# asked here" in text


def test_rows_are_had_without_values(x):
    with pytest.raises(TracingError, match=r"tfr\.unstack"):
        tfr.jit(lambda x: [row * 2 for row in x])(x)
    rows = tfr.jit(lambda x: [row * 2 for row in tfr.unstack(x)])(x)
    assert [row.tolist() for row in rows] == (x * 2).tolist()


def test_what_does_not_depend_on_arguments_may_be_read(x):
    @tfr.jit
    def scaled(x):
        table = tfr.arange(4) * 2
        assert table.tolist() == [0, 2, 4, 6]
        size = float(x.size) if x.ndim == 2 and len(x) == 2 else 0
        return x * table[1].item() + size + tfr.sum(tfr.asarray([1.0, 2.0])).item()

    np.testing.assert_array_equal(scaled(x).numpy(), x.numpy() * 2 + 9)
    np.testing.assert_array_equal(scaled(x + 1).numpy(), x.numpy() * 2 + 11)


def test_placeholders_print(x):
    printed = []

    @tfr.jit
    def shown(x, rate):
        printed.extend([str(x), repr(x + 1), f"{x} {rate:.3f}", str(rate), repr([rate, x])])
        return x

    shown(x, 0.5)
    text = "\n".join(printed)
    assert text.count("<float that depends on the argument rate of") == 3
    assert text.count("<float32[2, 3]: test_placeholders_print.<locals>.shown: values that") == 4
    assert repr(x) not in text
    shown(x, 0.5)
    assert len(printed) == 5


class TestWhatIsKept:
    def test_a_tensor_that_escapes_belongs_to_no_call(self, x):
        kept = []

        @tfr.jit
        def leaky(x):
            kept.append(x * 2)
            return x

        leaky(x)
        for read in (lambda: float(kept[0][0, 0]), lambda: float((kept[0] + 1).sum())):
            with pytest.raises(TracingError, match="was kept while jit recorded"):
                read()
        with pytest.raises(TracingError, match="was kept while jit recorded"):
            tfr.jit(lambda y: y + kept[0])(x)
        assert kept[0].shape == x.shape

    def test_a_number_that_escapes_belongs_to_no_call(self):
        kept = []

        @tfr.jit
        def leaky(rate):
            kept.append(rate)
            return rate + 1

        assert leaky(2) == 3
        for use in (lambda: kept[0] + 1, lambda: float(kept[0]), lambda: tfr.ones(2) * kept[0]):
            with pytest.raises(TracingError, match="was kept while jit recorded"):
                use().numpy()
        with pytest.raises(TracingError, match="was kept while jit recorded"):
            tfr.jit(lambda: kept[0])()

    def test_a_tensor_from_outside_is_not_changed(self, x):
        state = tfr.asarray([1.0, 2.0, 3.0])
        other = tfr.asarray([1.0, 2.0, 3.0])

        def added(x):
            nonlocal state
            state += x[0]
            return state

        def assigned(x):
            other[0] = x[0, 0]
            other[1] = x[0, 1]
            return x

        def failed(x):
            other.sort()
            other[0] = x[0, 0]
            raise KeyError

        for function in (added, assigned):
            with pytest.raises(TracingError, match="changes a tensor that is not among"):
                tfr.jit(function)(x)
        with pytest.raises(KeyError):
            tfr.jit(failed)(x)
        assert state.tolist() == [1.0, 2.0, 3.0]
        assert other.tolist() == [1.0, 2.0, 3.0]

    def test_an_object_s_tensor_is_not_changed(self, x):
        class Counter:
            def __init__(self):
                self.total = tfr.zeros(3)

            @tfr.jit
            def add(self, x):
                self.total += x[0]
                return x

        counter = Counter()
        with pytest.raises(TracingError, match="return the new tensor"):
            counter.add(x)
        assert counter.total.tolist() == [0.0, 0.0, 0.0]

    def test_handles_of_its_own_that_refer_to_themselves_are_its_own(self, x):
        weight = tfr.asarray([1.0, 2.0, 3.0])

        @tfr.jit
        def own(x):
            mine = weight.copy()

            def again(n):
                nonlocal mine
                mine += x[0]
                return again(n - 1) if n else mine

            return again(2)

        assert own(x).tolist() == [1.0, 5.0, 9.0]


class TestWhileRunning:
    def test_an_error_names_the_line_that_recorded_the_step(self):
        @tfr.jit
        def inverse(matrix):
            return tfr.linalg.inv(matrix) + 1.0  # recorded here

        assert inverse(tfr.eye(3)).shape == (3, 3)
        for _ in range(2):
            with pytest.raises(tfr.errors.LinAlgError) as caught:
                inverse(tfr.zeros((3, 3)))
            assert "# recorded here" in str(caught.value)
        assert inverse(tfr.eye(3)).tolist() == (tfr.eye(3) + 1).tolist()
        assert inverse.cache_info().recorded == 1

    def test_an_index_out_of_bounds(self):
        jitted = tfr.jit(lambda x, i: x[i])
        assert jitted(tfr.asarray([1, 2, 3]), -1).item() == 3
        for place in (3, -4):
            with pytest.raises(tfr.errors.IndexingError):
                jitted(tfr.asarray([1, 2, 3]), place)
            with pytest.raises(tfr.errors.IndexingError):
                jitted(tfr.asarray([1, 2, 3]), tfr.asarray([place]))

    def test_an_interrupt(self, x, monkeypatch):
        from tensorframe.backends.numpy import functions
        from tensorframe.graph.op import find
        from tensorframe.runtime.plan_cache import PLANS

        op = find("sort")
        right = functions.implementation[op]
        calls = []

        def third(*arguments, **options):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return right(*arguments, **options)

        PLANS.clear()
        monkeypatch.setitem(functions.implementation, op, third)
        try:
            jitted = tfr.jit(lambda x: tfr.sort(x, axis=0) + 1)
            wanted = x.numpy() + 1
            for _ in range(2):
                np.testing.assert_array_equal(jitted(x).numpy(), wanted)
            with pytest.raises(tfr.errors.CancelledError, match="interrupted in step 1 of 2"):
                jitted(x)
            np.testing.assert_array_equal(jitted(x).numpy(), wanted)
        finally:
            PLANS.clear()
