"""Replays on memory that stays: the same bits without Python between kernels; nobody sees what is written over."""

from __future__ import annotations

import sys
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.engine import missing
from tensorframe.backends.numpy.products.blas_calls import Matmul, calls_of, library
from tensorframe.errors import CancelledError, IndexingError, TracingError
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.node import next_serial
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.replays.bound_plan import BoundPlan

pytestmark = pytest.mark.skipif(missing() is not None, reason="no compiled kernels")
HOSTS = ["cpu", "llvm"]
MANY = 12  # calls after which values stay


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(*shape: int, seed: int = 0, device: str | None = None) -> tfr.Tensor:
    return computed(tfr.asarray(normal(*shape, seed=seed), device=device))


def computed(pending: tfr.Tensor) -> tfr.Tensor:
    pending.compute()
    return pending


def is_bound(jitted: Any) -> bool:
    return any(kept.record._replay.is_bound for kept in jitted._records.values())


def model_of(device: str | None = None) -> Any:
    """A function of products, reductions, gathers and views, and what is drawn outside."""
    first, second = tensor(24, 40, seed=1, device=device), tensor(40, 24, seed=2, device=device)

    def function(table: Any, ids: Any, scale: float) -> Any:
        x = table[ids] * scale
        hidden = tfr.tanh(x @ first) @ second
        weights = tfr.softmax(hidden @ x.mT, axis=-1)
        mixed = (weights @ x).reshape((-1, 6, 4)).sum(axis=1)
        return mixed, tfr.cos(x * 1e3).max(axis=0), tfr.argmax(hidden, axis=-1)

    return function


@pytest.mark.parametrize("device", HOSTS)
def test_bits_are_those_of_usual_replays_and_of_no_replay(device: str) -> None:
    """Numbers, indices and elements differ from call to call; cosines of large ones are left to another kernel."""
    function = model_of(device)
    jitted = tfr.jit(function)
    table = tensor(30, 24, device=device)
    for call in range(MANY + 6):
        ids = np.random.default_rng(call).integers(0, 30, 5, dtype=np.int32)
        given = (table, tfr.asarray(ids, device=device), 0.5 + call)
        if call == MANY + 2:
            given = (computed(table * 1e6), *given[1:])
        for value, expected in zip(jitted(*given), function(*given), strict=True):
            assert value.device == expected.device
            np.testing.assert_array_equal(value.numpy(), expected.numpy())
    assert is_bound(jitted)


def test_results_are_the_callers_own() -> None:
    jitted = tfr.jit(model_of())
    table, ids = tensor(30, 24), tfr.asarray(np.arange(5, dtype=np.int32))
    results = [jitted(table, ids, float(call)) for call in range(MANY + 3)]
    assert is_bound(jitted)
    values = [[part.numpy() for part in parts] for parts in results]
    for call, parts in enumerate(values):
        for part, expected in zip(parts, model_of()(table, ids, float(call)), strict=True):
            np.testing.assert_array_equal(part, expected.numpy())


def test_operands_of_another_layout_or_size_run_as_usual() -> None:
    jitted = tfr.jit(model_of())
    ids = tfr.asarray(np.arange(5, dtype=np.int32))
    for _ in range(MANY):
        jitted(tensor(30, 24), ids, 1.0)
    assert is_bound(jitted)
    turned = computed(tensor(24, 30).mT)
    for part, expected in zip(jitted(turned, ids, 1.0), model_of()(turned, ids, 1.0), strict=True):
        np.testing.assert_array_equal(part.numpy(), expected.numpy())
    assert not is_bound(jitted)


def test_an_index_out_of_bounds_is_an_error_at_its_line_and_the_next_call_is_right() -> None:
    jitted = tfr.jit(model_of())
    table, ids = tensor(30, 24), tfr.asarray(np.arange(5, dtype=np.int32))
    expected = [part.numpy() for part in jitted(table, ids, 1.0)]
    for _ in range(MANY):
        jitted(table, ids, 1.0)
    wrong = tfr.asarray(np.array([1, 2, 30, 0, 0], np.int32))
    with pytest.raises(IndexingError, match="30 is out of bounds") as raised:
        jitted(table, wrong, 1.0)
    assert "recorded at" in str(raised.value)
    assert "test_bound_replay.py" in str(raised.value)
    assert is_bound(jitted)
    for part, wanted in zip(jitted(table, ids, 1.0), expected, strict=True):
        np.testing.assert_array_equal(part.numpy(), wanted)


# What is written over.


def appending() -> Any:
    weight = tensor(8, 8, seed=3)

    @tfr.jit(updates=("stored",), donate=True)
    def append(stored: list[tfr.Tensor], row: Any, position: Any) -> Any:
        value = tfr.tanh(row @ weight)
        for held in stored:
            held[position] = value
            value = tfr.softmax(value @ held.mT, axis=-1) @ held
        return value

    return append


def append_as_arrays(stored: list[np.ndarray], row: np.ndarray, position: int) -> None:
    value = np.tanh(row @ normal(8, 8, seed=3))
    for held in stored:
        held[position] = value
        scores = np.exp(value @ held.T)
        value = scores / scores.sum(axis=-1, keepdims=True) @ held


def calls_of_append(append: Any, stored: list[tfr.Tensor], calls: range) -> None:
    for call in calls:
        append(stored, normal(1, 8, seed=call), np.array([call % 16], np.int32))


def test_what_is_donated_is_written_in_place_and_as_usual() -> None:
    append = appending()
    stored = [tensor(16, 8, seed=seed) for seed in (4, 5)]
    expected = [normal(16, 8, seed=seed) for seed in (4, 5)]
    calls_of_append(append, stored, range(MANY))
    places = [part.numpy().__array_interface__["data"][0] for part in stored]
    calls_of_append(append, stored, range(MANY, 3 * MANY))
    assert is_bound(append)
    assert [part.numpy().__array_interface__["data"][0] for part in stored] == places
    for call in range(3 * MANY):
        append_as_arrays(expected, normal(1, 8, seed=call), call % 16)
    for part, wanted in zip(stored, expected, strict=True):
        np.testing.assert_allclose(part.numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("who", ["a view", "an array", "a pending op", "another handle"])
def test_what_somebody_else_sees_stays_as_it_is(who: str) -> None:
    append = appending()
    stored = [tensor(16, 8, seed=seed) for seed in (4, 5)]
    calls_of_append(append, stored, range(MANY))
    assert is_bound(append)
    others: dict[str, Any] = {
        "a view": lambda: computed(stored[0][2:5]),
        "an array": stored[0].numpy,
        "a pending op": lambda: stored[0] + 1,
        "another handle": lambda: Tensor(stored[0].node),
    }
    other = others[who]()
    kept = np.array(tfr.asarray(stored[0]).numpy())
    calls_of_append(append, stored, range(MANY, MANY + 3))
    wanted = {"a view": kept[2:5], "a pending op": kept + 1}.get(who, kept)
    np.testing.assert_array_equal(tfr.asarray(other).numpy(), wanted)
    assert not np.array_equal(stored[0].numpy(), kept)


def test_what_fails_half_way_leaves_donated_tensors_without_values() -> None:
    append = appending()
    stored = [tensor(16, 8, seed=seed) for seed in (4, 5)]
    calls_of_append(append, stored, range(MANY))
    assert is_bound(append)
    with pytest.raises(IndexingError, match="16 is out of bounds"):
        append(stored, normal(1, 8), np.array([16], np.int32))
    for part in stored:
        with pytest.raises(TracingError, match="donated"):
            part.numpy()


@pytest.mark.parametrize("position", [-1, 15])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_are_placed_by_integers_of_either_sign(position: int, dtype: Any) -> None:
    append = appending()
    stored = [tensor(16, 8, seed=seed) for seed in (4, 5)]
    for _ in range(MANY + 1):
        append(stored, normal(1, 8, seed=9), np.array([position], dtype))
    assert is_bound(append)
    expected = [normal(16, 8, seed=seed) for seed in (4, 5)]
    append_as_arrays(expected, normal(1, 8, seed=9), 15)
    np.testing.assert_allclose(stored[0].numpy(), expected[0], rtol=1e-5, atol=1e-5)


# Others at the same time.


def test_two_threads_have_their_own_results() -> None:
    function = model_of()
    jitted = tfr.jit(function)
    tables = [tensor(30, 24, seed=seed) for seed in (0, 1)]
    ids = tfr.asarray(np.arange(5, dtype=np.int32))
    expected = [[part.numpy() for part in function(table, ids, 1.0)] for table in tables]
    for _ in range(MANY):
        jitted(tables[0], ids, 1.0)
    wrong: list[int] = []
    together = Barrier(2)

    def work(number: int) -> None:
        together.wait()
        for _ in range(100):
            results = jitted(tables[number], ids, 1.0)
            wrong.extend(
                number
                for part, wanted in zip(results, expected[number], strict=True)
                if not np.array_equal(part.numpy(), wanted)
            )

    threads = [Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_interrupt_is_explained_as_it_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    append = appending()
    stored = [tensor(16, 8, seed=seed) for seed in (4, 5)]
    calls_of_append(append, stored, range(MANY))
    assert is_bound(append)

    def interrupted(self: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(BoundPlan, "_shown", interrupted)
    with pytest.raises(CancelledError, match="interrupted in step 1"):
        calls_of_append(append, stored, range(1))


# A step of a language model.


def stepped(layers: int, bits: int | None) -> Any:
    config = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    model = tfr.nn.models.Llama(config, key=tfr.random.key(0))
    if bits is not None:
        tfr.nn.quantize(model, bits=bits)
    tokens = model.generate([1, 2, 3], max_tokens=40)
    for _ in range(MANY + 4):
        next(tokens)
    return tokens


def python_calls(tokens: Any) -> int:
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        next(tokens)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("bits", [None, 8, 4])
def test_a_token_takes_python_as_long_whatever_the_layers(
    bits: int | None, monkeypatch: Any
) -> None:
    """No op is recorded, no plan looked up, and no function called for a layer: only its cache is looked at."""
    few, many = [stepped(layers, bits) for layers in (1, 3)]
    counts = [python_calls(few), python_calls(many)]
    assert counts[0] == counts[1] <= 120
    looked_up: list[Any] = []
    monkeypatch.setattr(type(PLANS), "find", lambda self, key: looked_up.append(key))
    before = next_serial()
    next(many)
    assert next_serial() - before == 2  # the tokens, and this look
    assert not looked_up


def test_each_part_of_a_context_has_a_recording_of_its_own() -> None:
    """The first 256 positions, then 512: tokens are those of steps that run as usual."""
    model = tfr.nn.models.Llama(
        {
            "vocab_size": 64,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 600,
        },
        key=tfr.random.key(1),
    )
    prompt = [number % 64 for number in range(236)]
    key = tfr.random.key(2)
    fast = list(model.generate(prompt, max_tokens=60, temperature=1.0, key=key))
    with tfr.config.override(check_nan=True):  # looks at each result
        slow = list(model.generate(prompt, max_tokens=60, temperature=1.0, key=key))
    assert fast == slow


# BLAS as NumPy calls it.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_the_calls_that_numpy_makes(dtype: Any) -> None:
    if library(np.dtype(dtype)) is None:
        pytest.skip("NumPy has another BLAS here")
    from tensorframe.backends.llvm.blas_calls import bound_matmuls
    from tensorframe.backends.llvm.prepared_calls import PreparedCalls

    made = 0
    for rows, inner, columns in [(1, 7, 5), (6, 9, 1), (3, 4, 5), (1, 300, 200), (2, 64, 33)]:
        for stack in [(), (2, 3)]:
            for turns in range(4):
                x, y = [
                    np.random.default_rng(1).standard_normal((*stack, *shape)).astype(dtype)
                    for shape in ((rows, inner), (inner, columns))
                ]
                if turns & 1:
                    x = np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
                if turns & 2:
                    y = np.ascontiguousarray(y.swapaxes(-1, -2)).swapaxes(-1, -2)
                out = np.zeros((*stack, rows, columns), dtype)
                calls = bound_matmuls([Matmul(x, y, out)])
                assert calls is not None
                PreparedCalls(calls).run(0)
                np.testing.assert_array_equal(out, np.matmul(x, y))
                made += 1
    assert made == 40


def test_products_that_numpy_makes_in_another_way_have_no_calls() -> None:
    x = np.ones((3, 4), np.float32)
    out = np.empty((3, 3), np.float32)
    assert calls_of(Matmul(x, x.T, out)) is None  # with itself
    assert calls_of(Matmul(x[:1], x[:1].T, out[:1, :1])) is None  # two vectors
    assert calls_of(Matmul(np.ones((6, 8), np.float32)[::2, ::2], x.T, out)) is None  # in steps
