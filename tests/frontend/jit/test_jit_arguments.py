"""Arguments and results of `jit`: containers, arrays, numbers, and what a function does to them."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import tensorframe as tfr
from tests.frontend.jit_cases import (
    Frozen,
    Layer,
    Pair,
    formula,
    rng,
    same,
)


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
