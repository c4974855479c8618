"""`jit` of methods, of static arguments, of functions inside others, and what Python sees of it."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import tensorframe as tfr
from tests.frontend.jit_cases import (
    formula,
    module_level,
    rng,
    same,
)


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
