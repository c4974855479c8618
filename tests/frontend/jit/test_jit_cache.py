"""What `jit` keeps: recordings and their number, threads, random keys, devices."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tensorframe as tfr
from tests.frontend.jit_cases import (
    rng,
    same,
)


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
