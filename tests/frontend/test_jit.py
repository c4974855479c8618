"""`jit`: the values of the plain function, recorded once for each kind of arguments and never again."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import threading
import weakref
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import next_serial


def rng(*shape, seed=0, dtype=np.float32):
    return tfr.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def formula(a, b):
    return tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)


def same(got, wanted):
    """Compare tensors and numbers at any depth; kernels may round otherwise than NumPy, which runs at first."""
    if isinstance(wanted, tfr.Tensor):
        assert isinstance(got, tfr.Tensor)
        assert got.dtype == wanted.dtype
        assert got.device == wanted.device
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(wanted, dict):
        assert type(got) is type(wanted)
        assert list(got) == list(wanted)
        for name in wanted:
            same(got[name], wanted[name])
    elif isinstance(wanted, list | tuple):
        assert type(got) is type(wanted)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
    else:
        assert type(got) is type(wanted)
        assert got == wanted


# a function, and calls of it
FUNCTIONS = {
    "elementwise": (formula, [(rng(16), rng(16, seed=1)), (rng(16, seed=2), rng(16, seed=3))]),
    "large": (formula, [(rng(300, 200), rng(300, 200, seed=1)), (rng(300, 200, seed=2), rng(1))]),
    "reduction": (
        lambda x: x - tfr.mean(x, axis=1, keepdims=True),
        [(rng(40, 30),), (rng(40, 30, seed=1),)],
    ),
    "softmax": (lambda x: tfr.softmax(x, axis=-1), [(rng(5, 7),), (rng(5, 7, seed=1),)]),
    "product": (lambda x, w: tfr.maximum(x @ w, 0), [(rng(8, 4), rng(4, 3)), (rng(2, 4), rng(4))]),
    "views": (lambda x: (x.T[1:], x[::-1, None], x.reshape(-1)), [(rng(3, 4),), (rng(3, 4),)]),
    "gather": (
        lambda x, i: x[i] + tfr.take(x, i),
        [(rng(9), tfr.asarray([1, 3])), (rng(9), tfr.asarray([8, 0]))],
    ),
    "sorting": (lambda x: (tfr.sort(x), tfr.argsort(x)), [(rng(20),), (rng(20, seed=1),)]),
    "library": (lambda x: tfr.linalg.svd(x @ x.T).S, [(rng(4, 4),), (rng(4, 4, seed=1),)]),
    "sources": (lambda x: tfr.arange(x.shape[0]) * x + tfr.ones(4) + tfr.eye(4), [(rng(4),)]),
    "casts": (lambda x: x.astype("int32") + 1, [(rng(6),), (rng(6, seed=3),)]),
    "no arguments": (lambda: tfr.arange(5) * 2, [(), ()]),
    "argument itself": (lambda x: x, [(rng(3),), (rng(3, seed=1),)]),
    "argument twice": (lambda x, y: x * y, [(rng(3), rng(3)), (rng(3, seed=1), rng(3))]),
    "unused": (lambda x, y: y + 1, [(rng(3), rng(2)), (rng(3), rng(2, seed=1))]),
    "nothing": (lambda x: None, [(rng(3),)]),
    "constants": (lambda x: (1, 2.5, None, True, "name", x + 1), [(rng(3),), (rng(3, seed=1),)]),
    "constant tensor": (lambda x: tfr.asarray([1.0, 2.0]), [(rng(3),)]),
    "same twice": (lambda x: (x + 1, [x + 1], {"a": x}), [(rng(3),)]),
    "complex": (lambda x: tfr.fft.fft(x).real, [(rng(8),), (rng(8, seed=1),)]),
    "empty": (lambda x: x.sum() + x.size, [(rng(0, 3),), (rng(0, 3),)]),
    "scalars": (lambda x: x * 2 + 1, [(rng(),), (rng(seed=1),)]),
    "bool": (lambda x: (x > 0) & (x < 1), [(rng(9),), (rng(9, seed=1),)]),
    "mask": (lambda x: tfr.where(x > 0, x, 0.5), [(rng(9),), (rng(9, seed=1),)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_the_function(name):
    function, calls = FUNCTIONS[name]
    jitted = tfr.jit(function)
    for _ in range(2):
        for arguments in calls:
            same(jitted(*arguments), function(*arguments))


def test_a_call_computes():
    jitted = tfr.jit(formula)
    for seed in range(3):
        assert jitted(rng(5, seed=seed), rng(5)).is_computed


def test_the_function_runs_once_for_each_kind_of_arguments():
    ran = []

    @tfr.jit
    def double(x, y=None):
        ran.append(x)
        return x * 2

    for seed in range(3):
        double(rng(3, seed=seed))
    assert len(ran) == 1
    double(rng(4))
    double(rng(3))
    assert len(ran) == 2
    double(rng(3, dtype=np.float64))
    double(rng(3).to_device("numpy"))
    double(1.0)
    double(2.5)
    double(1)
    double(True)
    double(rng(3), None)
    double(rng(3), y=None)
    double(rng(3), "text")
    double(rng(3), "other")
    double([rng(3)][0], "text")
    assert len(ran) == 11
    assert double.cache_info() == (11, 11, tfr.config.get().jit_cache)


def test_a_replay_records_only_its_results():
    jitted = tfr.jit(lambda x: (formula(x, x), tfr.sum(x)))
    x = rng(50)
    jitted(x)
    before = next_serial()
    for _ in range(10):
        jitted(x)
    assert next_serial() - before == 10 * 2 + 1


def test_options_in_force_are_part_of_the_kind():
    jitted = tfr.jit(lambda a, b: tfr.exp(a) * b + a)
    a, b = rng(300, 200), rng(300, 200, seed=1)
    assert jitted.explain(a, b).kernels == 1
    with tfr.config.override(fuse=False):
        assert jitted.explain(a, b).kernels == 3
    assert jitted.explain(a, b).kernels == 1
    assert jitted.cache_info().recorded == 2


def test_defaults_in_force_are_part_of_the_kind():
    made = tfr.jit(lambda x: tfr.zeros(3) + x)
    assert made(1).dtype == tfr.float32
    tfr.set_default_dtype("float64")
    try:
        assert made(1).dtype == tfr.float64
    finally:
        tfr.set_default_dtype("float32")
    assert made(1).dtype == tfr.float32
    with tfr.use_backend("numpy"):
        assert made(1).device == "numpy"
    assert made(1).device == tfr.zeros(1).device


def test_pending_arguments_are_computed_together():
    x = rng(50, 40)
    shared = tfr.exp(x)
    first, second = shared + 1, shared * 2
    jitted = tfr.jit(lambda a, b: a - b)
    wanted = first.numpy(copy=True) - second.numpy()
    first, second = shared + 1, shared * 2
    jitted(first, second)
    assert first.is_computed
    assert second.is_computed
    np.testing.assert_array_equal(jitted(first, second).numpy(), wanted)


@dataclass
class Layer:
    weight: tfr.Tensor
    bias: tfr.Tensor
    name: str = "layer"
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Frozen:
    value: Any
    extra: Any = field(default=None, compare=False)


class Pair(NamedTuple):
    left: Any
    right: Any


def test_arguments_and_results_are_trees():
    @tfr.jit
    def step(parameters, batch, *, rate):
        moved = {
            "layers": [
                Layer(
                    parameter.weight - rate * batch.left,
                    parameter.bias + 1,
                    parameter.name,
                    parameter.scale,
                )
                for parameter in parameters["layers"]
            ],
            "rest": (parameters["rest"][0] * 2, None),
            "count": parameters["count"] + 1,
        }
        return moved, Pair(Frozen(batch.right), OrderedDict(b=batch.left, a="text"))

    def call(seed, count):
        layers = [Layer(rng(3, seed=seed), rng(3), f"layer {index}") for index in range(2)]
        parameters = {"layers": layers, "rest": (rng(2), None), "count": count}
        return parameters, Pair(rng(3, seed=7), rng(1))

    for seed in range(3):
        parameters, batch = call(seed, seed)
        moved, extra = step(parameters, batch, rate=0.5)
        for layer, old in zip(moved["layers"], parameters["layers"], strict=True):
            assert type(layer) is Layer
            assert layer.name == old.name
            same(layer.weight, old.weight - 0.5 * batch.left)
            same(layer.bias, old.bias + 1)
        same(moved["rest"], (parameters["rest"][0] * 2, None))
        assert moved["count"] == seed + 1
        assert type(extra) is Pair
        same(extra.left.value, batch.right)
        same(extra.right, OrderedDict(b=batch.left, a="text"))
    assert step.cache_info().recorded == 1
    parameters["layers"][0].name = "other"
    assert step(parameters, batch, rate=0.5)[0]["layers"][0].name == "other"
    assert step.cache_info().recorded == 2


def test_the_order_of_keys_is_kept_and_part_of_the_kind():
    jitted = tfr.jit(lambda named: {name: value + 1 for name, value in named.items()})
    assert list(jitted({"b": rng(1), "a": rng(2)})) == ["b", "a"]
    assert list(jitted({"a": rng(1), "b": rng(2)})) == ["a", "b"]
    assert jitted.cache_info().recorded == 2


def test_a_result_never_shares_containers_with_another():
    jitted = tfr.jit(lambda x: [x, {"a": x}])
    first, second = jitted(rng(2)), jitted(rng(2))
    first[1]["a"] = None
    first.append(1)
    assert len(second) == 2
    assert second[1]["a"] is not None


def test_a_function_inside_another_is_given_values_too():
    @tfr.jit
    def inner(x, named):
        x += 1
        named["more"] = x
        return x, named

    def outer(x, array):
        named = {"x": x}
        inside, given = inner(x, named)
        inside[0] = 9
        given["x"][0] = 8
        given["more"][0] = 7
        first, second = inner(array, {})
        return x, named, inside, given, first, second

    x, array = tfr.asarray([1.0, 2.0]), np.asarray([3.0, 4.0])
    wanted = [[1.0, 2.0], {"x": [1.0, 2.0]}, [9.0, 3.0], {"x": [8.0, 2.0], "more": [7.0, 3.0]}]
    wanted += [[4.0, 5.0], {"more": [4.0, 5.0]}]
    for function in (outer, tfr.jit(outer)):
        found = function(x, array)
        lists = [
            {name: value.tolist() for name, value in one.items()}
            if isinstance(one, dict)
            else one.tolist()
            for one in found
        ]
        assert lists == wanted
    assert (x.tolist(), array.tolist()) == ([1.0, 2.0], [3.0, 4.0])


def test_keyword_arguments_and_defaults():
    @tfr.jit
    def scaled(x, factor=2.0, *rest, shift=0.0, **more):
        total = x * factor + shift
        for one in (*rest, *more.values()):
            total = total + one
        return total

    x = rng(4)
    for _ in range(2):
        same(scaled(x), x * 2.0 + 0.0)
        same(scaled(x, factor=3.0), x * 3.0 + 0.0)
        same(scaled(x, 3.0), x * 3.0 + 0.0)
        same(scaled(x, shift=1.0), x * 2.0 + 1.0)
        same(scaled(shift=1.0, x=x), x * 2.0 + 1.0)
        same(scaled(x, 1.0, x, 2.5, shift=0.5, other=x), x * 1.0 + 0.5 + x + 2.5 + x)
    with pytest.raises(TypeError, match="unexpected keyword"):
        tfr.jit(lambda x: x)(y=x)


def test_numpy_arrays_are_arguments():
    jitted = tfr.jit(formula)
    for seed in range(3):
        a, b = rng(20, seed=seed).numpy(copy=True), rng(20).numpy()
        same(jitted(a, b), formula(tfr.asarray(a), tfr.asarray(b)))
        same(jitted(tfr.asarray(a), b), formula(tfr.asarray(a), tfr.asarray(b)))
    assert jitted.cache_info().recorded == 1  # tensors and arrays of equal facts are alike
    swapped = a.astype(">f4")
    same(jitted(swapped, b), formula(tfr.asarray(a), tfr.asarray(b)))
    same(jitted(np.float32(2), b), formula(tfr.asarray(np.float32(2)), tfr.asarray(b)))
    with pytest.raises(tfr.errors.DTypeError):
        jitted(np.asarray(["text"]), b)


def test_other_arrays_are_arguments():
    class Wrapped:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    jitted = tfr.jit(lambda x: x + 1)
    assert jitted(Wrapped(np.arange(3))).tolist() == [1, 2, 3]
    assert jitted(Wrapped(np.arange(1, 4))).tolist() == [2, 3, 4]


def test_results_do_not_share_the_memory_of_an_array():
    jitted = tfr.jit(lambda x: (x, x[::2], x.T, x.reshape(-1), x + 1))
    for _ in range(2):
        array = np.arange(6.0).reshape(2, 3)
        results = jitted(array)
        before = [one.numpy(copy=True) for one in results]
        array[:] = -1
        for result, wanted in zip(results, before, strict=True):
            np.testing.assert_array_equal(result.numpy(), wanted)


def test_arguments_are_never_overwritten():
    def chain(x, i, v):
        for _ in range(5):
            x = tfr.sqrt(x * x) + 1.0
        x[2] = 7.0
        x[1:3] += v
        return x * i

    jitted = tfr.jit(chain)
    for seed in range(3):
        x, v = rng(5000, 2, seed=seed), rng(2, 2)
        kept = x.numpy(copy=True), v.numpy(copy=True)
        wanted = chain(x.copy(), 3, v)
        same(jitted(x, 3, v), wanted)
        np.testing.assert_array_equal(x.numpy(), kept[0])
        np.testing.assert_array_equal(v.numpy(), kept[1])


def test_in_place_updates_of_arguments_stay_inside():
    @tfr.jit
    def update(x, y):
        x += y
        x[0] = 10.0
        y *= 2.0
        x.sort()
        return x, y

    for seed in range(2):
        x, y = rng(4, seed=seed), rng(4)
        before = x.numpy(copy=True), y.numpy(copy=True)
        changed, doubled = update(x, y)
        wanted = before[0] + before[1]
        wanted[0] = 10.0
        np.testing.assert_array_equal(changed.numpy(), np.sort(wanted))
        np.testing.assert_array_equal(doubled.numpy(), before[1] * 2)
        np.testing.assert_array_equal(x.numpy(), before[0])
        np.testing.assert_array_equal(y.numpy(), before[1])


def test_changes_of_containers_stay_inside():
    @tfr.jit
    def changed(named, line):
        named["w"] = named["w"] * 2
        named["new"] = named.pop("old")
        line.weight = line.weight + 1
        return named, line.weight

    for seed in range(2):
        named, line = {"w": rng(3, seed=seed), "old": 1}, Layer(rng(3), rng(3))
        before = dict(named), line.weight
        result, weight = changed(named, line)
        same(result, {"w": named["w"] * 2, "new": 1})
        same(weight, line.weight + 1)
        assert named == before[0]
        assert line.weight is before[1]


def test_a_handle_on_a_tensor_from_outside_may_be_updated():
    weight = rng(3)

    @tfr.jit
    def shifted(x):
        mine = weight.copy()
        mine += x
        mine[0] = 0.0
        return mine

    for seed in range(2):
        x = rng(3, seed=seed)
        wanted = weight.numpy() + x.numpy()
        wanted[0] = 0
        np.testing.assert_array_equal(shifted(x).numpy(), wanted)
    assert weight.is_computed


class TestClosures:
    def test_tensors_from_outside_are_constants(self):
        weight, pending = rng(3), rng(3) * 2
        jitted = tfr.jit(lambda x: (x @ weight, x + pending, weight, pending))
        for seed in range(3):
            x = rng(3, seed=seed)
            same(jitted(x), (x @ weight, x + pending, weight, pending))

    def test_pending_ones_are_computed_once(self):
        pending = tfr.exp(rng(100, 50))
        jitted = tfr.jit(lambda x: x + tfr.sum(pending * 2))
        jitted(rng(2))
        assert pending.is_computed
        assert "exp" not in str(jitted.explain(rng(2)))

    def test_they_are_what_the_name_stood_for_when_recorded(self):
        holder = {"weight": tfr.asarray([1.0])}
        jitted = tfr.jit(lambda x: x * holder["weight"])
        assert jitted(2.0).item() == 2.0
        holder["weight"] = tfr.asarray([5.0])
        assert jitted(2.0).item() == 2.0
        jitted.cache_clear()
        assert jitted(2.0).item() == 10.0

    def test_values_from_outside_may_be_read(self):
        threshold = tfr.asarray([1.0, 2.0])

        @tfr.jit
        def clipped(x):
            high = threshold.max().item()
            return tfr.minimum(x, high) if high > 1 else x

        assert clipped(tfr.asarray([3.0])).tolist() == [2.0]


class Model:
    def __init__(self, width):
        self.weight = rng(width)
        self.calls = 0

    @tfr.jit
    def forward(self, x, scale=1.0):
        """What the model says."""
        self.calls += 1
        return x @ self.weight * scale

    @staticmethod
    @tfr.jit
    def double(x):
        return x * 2

    @classmethod
    @tfr.jit
    def named(cls, x):
        return x + len(cls.__name__)


class TestMethods:
    def test_the_object_is_static(self):
        first, second = Model(3), Model(4)
        for _ in range(3):
            same(first.forward(rng(3)), rng(3) @ first.weight * 1.0)
            same(second.forward(rng(4), scale=2.0), rng(4) @ second.weight * 2.0)
        assert (first.calls, second.calls) == (1, 1)

    def test_objects_that_are_equal_are_still_two(self):
        class Always(Model):
            def __eq__(self, other):
                return True

            __hash__ = None

        first, second = Always(3), Always(3)
        second.weight = first.weight + 1
        same(first.forward(rng(3)), rng(3) @ first.weight * 1.0)
        same(second.forward(rng(3)), rng(3) @ second.weight * 1.0)

    def test_a_dataclass_is_a_tree(self):
        @dataclass
        class Line:
            slope: tfr.Tensor
            offset: float

            @tfr.jit
            def at(self, x):
                return self.slope * x + self.offset

        for seed in range(3):
            line = Line(rng(seed=seed), float(seed))
            same(line.at(rng(3)), line.slope * rng(3) + line.offset)
        assert Line.at.cache_info().recorded == 1

    def test_static_and_class_methods(self):
        assert Model.double(rng(1)).is_computed
        same(Model(1).double(rng(2)), rng(2) * 2)
        for _ in range(2):
            same(Model.named(rng(2)), rng(2) + 5)
            same(Model(1).named(rng(2)), rng(2) + 5)

    def test_recordings_go_with_the_object(self):
        model = Model(3)
        Model.forward.cache_clear()
        model.forward(rng(3))
        model.forward(rng(2, 3))
        weight = weakref.ref(model.weight)
        assert Model.forward.cache_info().kept == 2
        del model
        gc.collect()
        assert weight() is None
        assert Model.forward.cache_info().kept == 0
        other = Model(3)
        same(other.forward(rng(3)), rng(3) @ other.weight * 1.0)

    def test_the_class_explains(self):
        model = Model(3)
        assert Model.forward.explain(model, rng(3)).library_calls == 1
        assert model.calls == 1


class TestStatic:
    def test_by_name_and_by_place(self):
        def power(x, n, name="p"):
            for _ in range(n):
                x = x * 2
            return x if name == "p" else -x

        for static in (
            {"static_argnames": "n"},
            {"static_argnames": ["n", "name"]},
            {"static_argnums": 1},
            {"static_argnums": (-2,)},
        ):
            jitted = tfr.jit(power, **static)
            for n in (0, 1, 3, 1):
                same(jitted(rng(2), n), power(rng(2), n))
                same(jitted(rng(2), n=n), power(rng(2), n))
            same(jitted(rng(2), 1, "q"), power(rng(2), 1, "q"))
            assert jitted.cache_info().recorded == 7

    def test_as_a_decorator(self):
        @tfr.jit(static_argnames=("shape",))
        def filled(x, shape):
            return x.reshape(shape)

        assert filled(rng(6), (2, 3)).shape == (2, 3)
        assert filled(rng(6), (3, 2)).shape == (3, 2)

    def test_equal_values_of_other_types_are_others(self):
        jitted = tfr.jit(lambda x, how: x * how[0], static_argnums=1)
        results = [jitted(rng(2, dtype=np.int32), how) for how in ((1,), (1.0,), (True,))]
        assert [result.dtype for result in results] == [tfr.int32, tfr.float32, tfr.int32]
        signs = tfr.jit(tfr.copysign, static_argnums=1)
        assert [signs(rng(1), zero).item() > 0 for zero in (0.0, -0.0, 0.0)] == [True, False, True]

    def test_functions_types_and_slices_are_static(self):
        jitted = tfr.jit(lambda f, kind, part, x: f(x.astype(kind)[part]), static_argnums=2)
        for f in (tfr.exp, tfr.sin):
            for part in (slice(1, 3), slice(2)):
                same(jitted(f, tfr.float64, part, rng(5)), f(rng(5).astype(tfr.float64)[part]))
        assert jitted.cache_info().recorded == 4

    def test_functions_that_are_gone_are_forgotten(self):
        jitted = tfr.jit(lambda f, x: f(x))
        for number in range(5):
            assert jitted(lambda x, number=number: x + number, 1) == number + 1
        gc.collect()
        assert jitted.cache_info().kept == 0
        assert jitted.cache_info().recorded == 5

    @pytest.mark.parametrize(
        "wrong", [{"static_argnames": "z"}, {"static_argnums": 2}, {"static_argnums": -3}]
    )
    def test_there_must_be_such_an_argument(self, wrong):
        with pytest.raises(tfr.errors.ArgumentError, match="<lambda>"):
            tfr.jit(lambda x, y: x, **wrong)

    def test_tensors_are_not(self):
        jitted = tfr.jit(lambda x, y: x, static_argnames="y")
        with pytest.raises(tfr.errors.DTypeError, match="argument y: is declared static"):
            jitted(1, rng(2))

    def test_what_cannot_be_hashed_is_refused(self):
        with pytest.raises(tfr.errors.DTypeError, match="argument y: a set is no tensor"):
            tfr.jit(lambda x, y: x)(1, {1, 2})
        with pytest.raises(tfr.errors.DTypeError, match="argument y: a list is no tensor"):
            tfr.jit(lambda x, y: x, static_argnums=1)(1, [1, 2])
        with pytest.raises(tfr.errors.DTypeError, match="a set is no tensor"):
            tfr.jit(lambda x: {1, 2})(1)


class TestNesting:
    def test_a_jitted_function_is_part_of_the_one_that_calls_it(self):
        ran = []

        @tfr.jit
        def inner(x, factor):
            ran.append(1)
            return x * factor

        @tfr.jit
        def outer(x, y):
            return inner(x, 2.0) + inner(y, 3)

        for seed in range(3):
            x, y = rng(4000, 2, seed=seed), rng(4000, 2)
            same(outer(x, y), x * 2.0 + y * 3)
        assert len(ran) == 2
        assert inner.cache_info().recorded == 0
        assert outer.explain(x, y).kernels == 1

    def test_closures_over_what_is_traced(self):
        @tfr.jit
        def outer(x):
            @tfr.jit
            def inner(y):
                return x + y

            return inner(1.0) * 2

        for seed in range(2):
            same(outer(rng(3, seed=seed)), (rng(3, seed=seed) + 1.0) * 2)

    def test_a_jitted_function_may_be_jitted(self):
        jitted = tfr.jit(tfr.jit(formula))
        for seed in range(2):
            a, b = rng(4, seed=seed), rng(4)
            same(jitted(a, b), formula(a, b))


class TestLikeAFunction:
    def test_metadata(self):
        def named(x: int) -> int:
            """What it does."""
            return x

        jitted = tfr.jit(named)
        assert jitted.__name__ == "named"
        assert jitted.__doc__ == "What it does."
        assert jitted.__wrapped__ is named
        assert jitted.__module__ == __name__
        assert "named" in repr(jitted)

    def test_it_pickles_by_name(self):
        assert pickle.loads(pickle.dumps(module_level)) is module_level
        assert copy.copy(module_level) is module_level

    def test_anything_callable(self):
        same(tfr.jit(functools.partial(formula, rng(3)))(rng(3)), formula(rng(3), rng(3)))
        same(tfr.jit(tfr.exp)(rng(3)), tfr.exp(rng(3)))
        same(tfr.jit(abs)(rng(3)), abs(rng(3)))
        with pytest.raises(tfr.errors.DTypeError, match="takes a function, got int"):
            tfr.jit(3)

    def test_generators_and_coroutines_are_refused(self):
        def one_by_one(x):
            yield x

        async def later(x):
            return x

        for function in (one_by_one, later):
            with pytest.raises(tfr.errors.DTypeError, match=function.__name__):
                tfr.jit(function)

    def test_it_knows_itself(self):
        @tfr.jit(static_argnames="n")
        def power(x, n):
            return x if n == 1 else x * power(x, n - 1)

        assert power(tfr.asarray(2.0), 5).item() == 32.0


@tfr.jit
def module_level(x):
    return x + 1


class TestCache:
    def test_it_is_bounded_and_drops_the_least_used(self):
        jitted = tfr.jit(lambda x: x + 1)
        with tfr.config.override(jit_cache=3):
            for size in (1, 2, 3, 1, 4, 1):
                jitted(rng(size))
            assert jitted.cache_info() == (4, 3, 3)
            jitted(rng(3))
            assert jitted.cache_info().recorded == 4
            jitted(rng(2))
            assert jitted.cache_info().recorded == 5

    def test_explain_records_and_runs_nothing(self):
        jitted = tfr.jit(lambda x: tfr.exp(x) + 1)
        x = rng(50, 50) + 0.0
        plan = jitted.explain(x)
        assert plan.kernels == 1
        assert not x.is_computed
        assert jitted.cache_info().recorded == 1
        jitted(x)
        assert jitted.explain(x).steps is plan.steps
        assert jitted.cache_info().recorded == 1

    def test_equal_graphs_share_the_plan_with_plain_code(self):
        jitted = tfr.jit(lambda x, s: tfr.exp(x) * s + 1)
        x = rng(90, 50)
        plain = tfr.explain(tfr.exp(x) * 2.5 + 1)
        assert plain.steps is jitted.explain(x, 0.5).steps

    def test_a_recording_keeps_no_argument_alive(self):
        jitted = tfr.jit(lambda x, n, key: x * (n + 1) + tfr.random.uniform(3, key=key))
        x = rng(3)
        elements = weakref.ref(x.node.storage.handle)
        jitted(x, 2, tfr.random.key(1))
        del x
        gc.collect()
        assert elements() is None
        assert jitted.cache_info().kept == 1

    def test_after_an_error_nothing_is_kept(self):
        fail = [True]

        @tfr.jit
        def sometimes(x):
            y = x + 1
            if fail[0]:
                raise KeyError("no")
            return y

        with pytest.raises(KeyError):
            sometimes(rng(2))
        with pytest.raises(tfr.errors.ShapeError):
            tfr.jit(lambda x: x + rng(3))(rng(2))
        assert sometimes.cache_info() == (0, 0, tfr.config.get().jit_cache)
        fail[0] = False
        same(sometimes(rng(2)), rng(2) + 1)
        assert (rng(2) + 1).is_computed is False  # recording is over


class TestThreads:
    def test_threads_share_recordings(self):
        jitted = tfr.jit(lambda x, s: tfr.sum(tfr.sqrt(x * x + s)) * s)
        gate = threading.Barrier(8)

        def work(number):
            gate.wait(timeout=30)
            found = []
            for round_ in range(30):
                x = tfr.asarray(np.full((round_ % 3 + 1, 20), float(number), np.float32))
                found.append(jitted(x, number).item())
            return found

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(work, range(8)))
        for number, found in enumerate(results):
            for round_, value in enumerate(found):
                one = np.sqrt(np.float32(number * number + number))
                assert value == pytest.approx(one * 20 * (round_ % 3 + 1) * number, rel=1e-5)
        assert jitted.cache_info().kept == 3

    def test_a_recording_is_its_own_thread_s_alone(self):
        inside, done = threading.Event(), threading.Event()

        @tfr.jit
        def slow(x):
            inside.set()
            done.wait(timeout=30)
            return x + 1

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(slow, rng(2))
            inside.wait(timeout=30)
            assert tfr.jit(lambda x: x * 2)(rng(2)).is_computed  # not part of the other recording
            done.set()
            same(running.result(timeout=30), rng(2) + 1)


class TestRandom:
    def test_a_key_is_an_argument(self):
        def noisy(x, key):
            first, second = tfr.random.split(key)
            return x + tfr.random.normal(x.shape, key=first), tfr.random.uniform(3, key=second)

        jitted = tfr.jit(noisy)
        for seed in (0, 1, 2**64 - 1):
            key = tfr.random.key(seed)
            same(jitted(rng(5), key), noisy(rng(5), key))
        assert jitted.cache_info().recorded == 1

    def test_a_seed_is_an_argument(self):
        def drawn(seed, step):
            generator = tfr.random.default_rng(seed)
            key = tfr.random.key(step)
            return generator.normal(size=3), generator.random(2), tfr.random.uniform(2, key=key)

        jitted = tfr.jit(drawn, static_argnums=0)
        for step in range(3):
            same(jitted(7, step), drawn(7, step))
        with pytest.raises(tfr.errors.ArgumentError, match="a seed is an integer"):
            jitted(7, -1)

    def test_results_may_be_keys(self):
        jitted = tfr.jit(lambda key: tfr.random.split(key, 3))
        key = tfr.random.key(3)
        for _ in range(2):
            assert jitted(key) == tfr.random.split(key, 3)
            key = jitted(key)[0]

    def test_without_a_key_every_call_draws_anew_and_as_plain_code_does(self):
        def drawn(x):
            return x + tfr.random.uniform(5), tfr.random.integers(0, 100, (4,))

        jitted = tfr.jit(drawn)
        x = rng(5)
        tfr.random.seed(5)
        wanted = [tfr.compute(*drawn(x)) for _ in range(3)]
        tfr.random.seed(5)
        for one in wanted:
            same(jitted(x), one)

    def test_a_generator_from_outside_goes_on(self):
        generator = tfr.random.default_rng(3)
        jitted = tfr.jit(lambda x: x * generator.normal(size=4))
        found = [jitted(1.0) for _ in range(3)]
        again = tfr.random.default_rng(3)
        same(found, [again.normal(size=4) for _ in range(3)])

    def test_an_unseeded_generator_inside_differs_in_every_call(self):
        jitted = tfr.jit(lambda: tfr.random.default_rng().random(4))
        assert jitted().tolist() != jitted().tolist()

    def test_seeding_inside_is_refused(self):
        with pytest.raises(tfr.errors.TracingError, match="is seeded"):
            tfr.jit(lambda: tfr.random.seed(1))()
        generator = tfr.random.default_rng(3)
        with pytest.raises(tfr.errors.TracingError, match="gives keys"):
            tfr.jit(lambda: generator.spawn(2))()


def test_devices_may_differ():
    jitted = tfr.jit(lambda x, y: x + y)
    x, y = rng(40), rng(30, 40).to_device("numpy")
    for _ in range(2):
        result = jitted(x, y)
        assert result.device == "numpy"
        np.testing.assert_array_equal(result.numpy(), x.numpy() + y.numpy())


def test_a_device_that_only_plans():
    jitted = tfr.jit(lambda x: tfr.exp(x) + 1)
    x = rng(40, 30).to_device("dry")
    assert jitted.explain(x).kernels == 1
    assert jitted(x).shape == (40, 30)
