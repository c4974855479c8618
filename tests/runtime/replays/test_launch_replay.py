"""Launches that are given to a device again: the bits of the plan, its errors, and nobody's memory but its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device import recorded
from tensorframe.errors import DeviceError, IndexingError, TracingError
from tensorframe.frontend.tensor import Tensor
from tensorframe.runtime.execution import executor, throttling
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.replays import launch_replay
from tests.backends.counts import counted
from tests.backends.devices import FOUND, on_every_device

MANY = 12  # calls after which launches are recorded


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def computed(pending: tfr.Tensor) -> tfr.Tensor:
    pending.compute()
    return pending


def tensor(array: np.ndarray, device: str) -> tfr.Tensor:
    return computed(tfr.asarray(array, device=device))


def is_recorded(jitted: Any) -> bool:
    launches = [kept.record._replay._launches for kept in jitted._records.values()]
    return any(each is not None and each._recording is not None for each in launches)


def appending(device: str) -> Any:
    weight = tensor(normal(8, 8, seed=3), device)

    @tfr.jit(updates=("stored",), donate=True)
    def append(stored: list[tfr.Tensor], row: Any, position: Any) -> Any:
        value = tfr.tanh(row @ weight)
        for held in stored:
            held[position] = value
            value = tfr.softmax(value @ held.mT, axis=-1) @ held
        return value, tfr.argmax(value, axis=-1)

    return append


def begun(device: str) -> list[tfr.Tensor]:
    return [tensor(normal(16, 8, seed=seed), device) for seed in (4, 5)]


def called(append: Any, stored: list[tfr.Tensor], call: int, device: str) -> list[np.ndarray]:
    given = normal(1, 8, seed=call), np.array([call % 16], np.int32)
    results = append(stored, *[tensor(array, device) for array in given])
    return [value.numpy() for value in results]


@on_every_device
def test_bits_are_those_of_the_plan_in_the_memory_that_is_there(device: str) -> None:
    append, again, stored, copies = (
        appending(device),
        appending(device),
        begun(device),
        begun(device),
    )
    for call in range(MANY + 6):
        again.cache_clear()  # recorded anew each time, so never replayed
        results = called(append, stored, call, device)
        expected = called(again, copies, call, device)
        for value, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)
    assert is_recorded(append)
    for held, other in zip(stored, copies, strict=True):
        np.testing.assert_array_equal(held.numpy(), other.numpy())


@contextmanager
def bound(device: str) -> Iterator[Callable[[], int]]:
    """Count the launches that a queue has bound."""
    place: Any
    if device == "opencl":
        import pyopencl as cl

        place, name = cl, "enqueue_nd_range_kernel"
    elif device.startswith("wgpu"):
        from tensorframe.backends.wgpu import recording

        place, name = recording.Recording, "launch"
    else:
        yield lambda: 0
        return
    with patch.object(place, name, autospec=True, side_effect=getattr(place, name)) as counting:
        yield lambda: counting.call_count


@on_every_device
def test_a_call_is_its_launches(device: str) -> None:
    """As many as before, copies of small arguments and results beside, no memory but results', and little Python."""
    append, stored = appending(device), begun(device)
    given = [tensor(array, device) for array in (normal(1, 8), np.array([3], np.int32))]

    def calls() -> int:
        seen = []
        sys.setprofile(
            lambda _frame, event, _argument: seen.append(event) if event == "call" else None
        )
        try:
            append(stored, *given)
        finally:
            sys.setprofile(None)
        return len(seen)

    for _ in range(4):
        append(stored, *given)
    with counted(device) as before:
        append(stored, *given)
    usual = min(calls() for _ in range(2))
    for _ in range(MANY):
        append(stored, *given)
    assert is_recorded(append)
    nodes = [held.node for held in stored]
    kept = list(map(id, nodes))
    del nodes  # or what is written over would be seen by somebody else
    with counted(device) as after, bound(device) as launched:
        append(stored, *given)
    assert [id(held.node) for held in stored] == kept
    # where a queue binds launches, nothing of them is looked for again
    assert sorted([after["launch"], launched()]) == [0, before["launch"]]
    assert after["launch"] == 0 or device == "cuda"
    assert after["copy"] == 4
    # the mark of indices out of bounds, which is clear after every call before
    assert (before["write"], after["write"], after["read"]) == (1, 0, 1)
    assert after["allocate"] == 0
    assert min(calls() for _ in range(5)) < usual


@pytest.mark.skipif("opencl" not in FOUND, reason="OpenCL is not here")
def test_python_is_called_four_times_for_what_is_written_over_and_never_for_a_launch() -> None:
    def calls(count: int) -> int:
        stored = [tensor(normal(4, 8, seed=seed), "opencl") for seed in range(count)]
        row, place = tensor(normal(1, 8), "opencl"), tensor(np.array([1], np.int32), "opencl")

        @tfr.jit(updates=("stored",), donate=True)
        def append(stored: list[tfr.Tensor], row: Any, place: Any) -> Any:
            for held in stored:
                held[place] = row
                row = tfr.softmax(row @ held.mT, axis=-1) @ held
            return row

        def once() -> int:
            seen = []
            sys.setprofile(
                lambda _frame, event, _argument: seen.append(event) if event == "call" else None
            )
            try:
                append(stored, row, place)
            finally:
                sys.setprofile(None)
            return len(seen)

        for _ in range(MANY):
            append(stored, row, place)
        assert is_recorded(append)
        return min(once() for _ in range(3))

    assert calls(12) - calls(4) <= 8 * 4


@on_every_device
@pytest.mark.parametrize("who", ["a view", "a pending op", "another handle"])
def test_what_somebody_else_sees_stays_as_it_is(device: str, who: str) -> None:
    append, stored = appending(device), begun(device)
    for call in range(MANY):
        called(append, stored, call, device)
    assert is_recorded(append)
    others: dict[str, Any] = {
        "a view": lambda: computed(stored[0][2:14, ::2]),
        "a pending op": lambda: stored[0] + 1,
        "another handle": lambda: Tensor(stored[0].node),
    }
    other, kept = others[who](), stored[0].numpy().copy()
    for call in range(MANY, MANY + 3):
        called(append, stored, call, device)
    wanted = {"a view": kept[2:14, ::2], "a pending op": kept + 1}.get(who, kept)
    np.testing.assert_array_equal(other.numpy(), wanted)
    assert not np.array_equal(stored[0].numpy(), kept)


@on_every_device
def test_an_index_out_of_bounds_is_an_error_at_its_line(device: str) -> None:
    append, stored = appending(device), begun(device)
    for call in range(MANY):
        called(append, stored, call, device)
    assert is_recorded(append)
    wrong = tensor(np.array([16], np.int32), device)
    with pytest.raises(IndexingError, match="16 is out of bounds") as raised:
        append(stored, tensor(normal(1, 8), device), wrong)
    assert "test_launch_replay.py" in str(raised.value)
    for part in stored:
        with pytest.raises(TracingError, match="donated"):
            part.numpy()


@on_every_device
def test_an_index_that_is_written_over_was_out_of_bounds_all_the_same(device: str) -> None:
    """The plan cannot tell any more: its index is the next one by then, and the elements are wrong ones."""
    weight, first = tensor(normal(8, 8, seed=3), device), tensor(np.array([0], np.int32), device)

    @tfr.jit(updates=("stored", "places"), donate=True)
    def append(stored: list[tfr.Tensor], places: Any, row: Any) -> Any:
        place = places[first]
        for held in stored:
            held[place] = row = tfr.tanh(row @ weight)
            row = tfr.softmax(row @ held.mT, axis=-1) @ held
        places[first] = tfr.where(place > 9, 3, place + 1)
        return row

    row, places = tensor(normal(1, 8), device), tensor(np.full(4, 3, np.int32), device)
    stored = begun(device)
    for _ in range(MANY):
        append(stored, places, row)
    assert is_recorded(append)

    @tfr.jit(updates=("places",), donate=True)
    def spoil(places: Any) -> None:
        places[first] = first + 16

    spoil(places)
    with pytest.raises(IndexingError, match="out of bounds"):
        append(stored, places, row)
    with pytest.raises(TracingError, match="donated"):
        places.numpy()


@on_every_device
def test_a_mark_of_a_call_that_was_interrupted_is_none_of_the_next(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes while it is read. The next call took the mark for its own, and ran on what it had written."""
    append, again, stored = appending(device), appending(device), begun(device)
    given = [tensor(array, device) for array in (normal(1, 8), np.array([3], np.int32))]
    wrong = tensor(np.array([16], np.int32), device)
    for _ in range(MANY):
        append(stored, *given)
    assert is_recorded(append)

    def interrupted(*_given: Any) -> Any:
        raise KeyboardInterrupt

    (kept,) = append._records.values()
    queue = kept.record._replay._launches._recording._queue
    monkeypatch.setattr(queue, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        append(stored, given[0], wrong)
    monkeypatch.undo()
    stored, copies = begun(device), begun(device)
    for place in range(4):
        given[1] = tensor(np.array([place], np.int32), device)
        results, expected = append(stored, *given), again(copies, *given)
        np.testing.assert_array_equal(results[0].numpy(), expected[0].numpy())


@on_every_device
def test_a_device_that_is_closed_takes_its_launches_along(device: str) -> None:
    append, stored = appending(device), begun(device)
    for call in range(MANY):
        called(append, stored, call, device)
    assert is_recorded(append)
    tfr.backends.close(device)
    with pytest.raises(DeviceError, match="was closed"):  # what the function refers to is lost
        called(append, begun(device), 0, device)
    again = appending(device)
    results = [called(again, begun(device), 0, device)[0] for _ in range(2)]
    np.testing.assert_array_equal(*results)


@on_every_device
def test_numbers_that_change_are_no_part_of_launches(device: str) -> None:
    weight = tensor(normal(8, 8, seed=3), device)

    @tfr.jit
    def function(x: Any, scale: float) -> Any:
        for _ in range(4):
            x = tfr.softmax(x @ weight, axis=-1) * scale
        return x

    x = tensor(normal(3, 8), device)
    results = [function(x, float(call)).numpy() for call in range(MANY)]
    assert not is_recorded(function)
    assert not np.array_equal(results[-1], results[-2])


@on_every_device
def test_tokens_are_those_of_the_plan(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values grow in the memory that they are in, call by call."""
    config = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    model = tfr.nn.models.Llama(config, device, key=tfr.random.key(0))
    tokens = list(model.generate([1, 2, 3], max_tokens=MANY + 6))
    monkeypatch.setattr(launch_replay, "_REPLAYS", 10**6)
    assert list(model.generate([1, 2, 3], max_tokens=MANY + 6)) == tokens


@on_every_device
def test_nobody_waits_for_the_device_while_launches_are_recorded(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is held meanwhile, so a thread that waited for the device would wait for this one, and it for that."""
    held: list[bool] = []
    inside = recorded._noted

    @contextmanager
    def noted(queue: Any) -> Iterator[Any]:
        held.append(True)
        with inside(queue) as calls:
            yield calls
        held.clear()

    waits: list[bool] = []
    monkeypatch.setattr(recorded, "_noted", noted)
    monkeypatch.setattr(executor, "can_take_long", lambda _plan: True)
    monkeypatch.setattr(throttling, "_FIRST", 0.0)
    monkeypatch.setattr(throttling._Pace, "catch_up", lambda *_: waits.append(bool(held)))
    monkeypatch.setattr(throttling, "_paces", {})
    PLANS.clear()
    append, stored = appending(device), begun(device)
    for call in range(MANY):
        called(append, stored, call, device)
    PLANS.clear()
    assert is_recorded(append)
    assert waits
    assert not any(waits)
