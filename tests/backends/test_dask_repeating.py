"""A region on blocks in the same chunks is not lowered the second time, and anything else makes tasks as ever."""

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import CancelledError, KernelError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from dask.callbacks import Callback  # noqa: E402

from tensorframe.backends.dask import known_graph, repeating, running, within  # noqa: E402
from tensorframe.backends.dask.arrays import array_of, array_of_form, block_keys, form_of  # noqa: E402
from tensorframe.backends.dask.partials import PartialCall  # noqa: E402
from tensorframe.backends.dask.together import in_one_array  # noqa: E402
from tests.backends.dask_room import pool_with  # noqa: E402

ROWS, COLUMNS, BLOCKS = 256, 64, 8


@pytest.fixture(autouse=True)
def one_thread():
    with tfr.config.override(threads=1), dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def at_once(monkeypatch):
    """The arrays that were made without a graph."""
    made = []
    make = repeating._made

    def noted(*arguments):
        made.append(make(*arguments))
        return made[-1]

    monkeypatch.setattr(repeating, "_made", noted)
    return made


def numbers(seed=0, rows=ROWS):
    return np.random.default_rng(seed).standard_normal((rows, COLUMNS)).astype(np.float32)


def on_dask(values, rows=ROWS // BLOCKS):
    return tfr.from_native(da.from_array(values, chunks=(rows, COLUMNS)).persist())


def softmax(x):
    return tfr.softmax(x, axis=1)


PROGRAMS = {
    "a chain": lambda x: tfr.sqrt(tfr.abs(tfr.sin(x) * 2 + tfr.exp(-x))),
    "a softmax": softmax,
    "a layer norm": lambda x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True),
    "a stencil": lambda x: 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, 2:],
    "positions beside": lambda x: x * 2 + tfr.arange(COLUMNS, device="dask", dtype="float32"),
}


# what is not made of neighbouring blocks
GRAPHS = {
    "a sum": lambda x: tfr.sum(tfr.exp(-x * x)),
    "a mean and more": lambda x: tfr.mean(x, axis=0) * 2 + 1,
    "a variance": tfr.var,
    "positions of maxima": lambda x: tfr.argmax(x, axis=0),
    "differences in square blocks": lambda x: x - tfr.mean(x, axis=1, keepdims=True),
    "a scan": lambda x: tfr.cumulative_sum(x, axis=1),
    "a chain in square blocks": lambda x: tfr.sin(x) * 2 + tfr.exp(-x),
}


# what tasks for blocks of whole rows write to one array, each for itself
ROW_GRAPHS = {
    "a scan of rows": lambda x, w, i: tfr.cumulative_sum(x, axis=1),
    "sorted rows": lambda x, w, i: tfr.sort(x, axis=1),
    "a product": lambda x, w, i: x @ w,
    "a product and more": lambda x, w, i: tfr.sin(x @ w) * 2,
    "columns chosen": lambda x, w, i: x[:, i],
}


def by_tasks(program, values):
    """The result of blocks in memory of their own, which tasks make one by one."""
    blocks = da.from_array(values, chunks=(ROWS // BLOCKS, COLUMNS)).map_blocks(np.copy)
    return program(tfr.from_native(blocks.persist())).numpy()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_but_the_first_run_at_once_and_have_the_bits_of_tasks(name, workers, at_once):
    program = PROGRAMS[name]
    scheduler = "synchronous" if workers == 1 else "threads"
    with dask.config.set(scheduler=scheduler, num_workers=workers):
        first = program(on_dask(numbers())).compute().native()
        at_once.clear()
        for seed in range(3):
            found = program(on_dask(numbers(seed))).compute()
            assert len(at_once) == seed + 1
            assert found.native() is at_once[-1]
            assert found.native().chunks == first.chunks
            assert np.array_equal(found.numpy(), by_tasks(program, numbers(seed)))
            assert len(at_once) == seed + 1


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_known_graphs_run_on_other_blocks_and_have_the_bits_of_tasks(name, workers, at_once):
    program = GRAPHS[name]

    def square(seed):
        return tfr.from_native(da.from_array(numbers(seed), chunks=(100, 30)).persist())

    scheduler = "synchronous" if workers == 1 else "threads"
    with dask.config.set(scheduler=scheduler, num_workers=workers):
        first = program(square(7)).compute().native()
        at_once.clear()
        for seed in range(3):
            found = program(square(seed)).compute()
            assert len(at_once) == seed + 1
            assert found.native() is at_once[-1]
            assert found.native().chunks == first.chunks
            assert found.native().name != first.name
            with Watching() as watching:
                wanted = program(square(seed)).numpy()
            assert len(watching.seen) >= 9
            assert np.array_equal(found.numpy(), wanted)
            assert len(at_once) == seed + 1


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", ROW_GRAPHS)
def test_known_graphs_of_rows_write_to_one_array(name, workers, at_once):
    w = tfr.asarray(numbers(5)[:COLUMNS]).to_backend("dask").compute()
    i = tfr.asarray(np.array([1, 5, 5])).to_backend("dask").compute()

    def program(x):
        return ROW_GRAPHS[name](x, w, i)

    scheduler = "synchronous" if workers == 1 else "threads"
    with dask.config.set(scheduler=scheduler, num_workers=workers):
        program(on_dask(numbers(7))).compute()
        at_once.clear()
        found = [program(on_dask(numbers(seed))).compute().native() for seed in range(3)]
        assert len(at_once) == len(found)
        for seed, array in enumerate(found):
            blocks = [array.dask[key] for key in block_keys(array)]
            assert in_one_array([getattr(b, "value", b) for b in blocks], array.shape) is not None
            assert np.array_equal(array.compute(), by_tasks(program, numbers(seed)))


def test_graphs_of_many_tasks_are_not_kept(at_once, monkeypatch):
    monkeypatch.setattr(known_graph, "_MOST", 8)
    x = on_dask(numbers())
    for _ in range(3):
        found = tfr.sum(x).compute()
    assert not at_once
    assert np.array_equal(found.numpy(), tfr.sum(on_dask(numbers())).numpy())


def test_blocks_that_are_tasks_still_make_a_graph_of_their_own(at_once):
    source = da.from_array(numbers(), chunks=(32, COLUMNS))
    for _ in range(2):
        tfr.sum(tfr.from_native(source.persist())).compute()
    at_once.clear()
    lazily = tfr.from_native(source.map_blocks(np.negative))
    negated = tfr.sum(lazily).numpy()
    assert not at_once
    assert np.array_equal(negated, -tfr.sum(on_dask(numbers())).numpy())


@pytest.mark.parametrize(
    ("name", "most"), [("a chain", 500), ("a softmax", 500), ("a stencil", 500), ("a sum", 1100)]
)
def test_eight_blocks_take_few_calls(name, most):
    """Some 2,200 where tasks are made, ordered and run; calls do not depend on what else runs."""
    program, x = {**PROGRAMS, **GRAPHS}[name], on_dask(numbers())
    for _ in range(3):
        program(x).compute()
    calls = 0

    def count(_, event, __):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        program(x).compute()
    finally:
        sys.setprofile(before)
    assert 50 < calls < most


class Watching(Callback):
    def __init__(self):
        super().__init__(pretask=lambda key, *_: self.seen.append(key))
        self.seen = []


def repeated(values=None):
    """What has run at once before, and what is to be run again."""
    x = on_dask(numbers() if values is None else values)
    for _ in range(2):
        softmax(x).compute()
    return x


def test_other_chunks_and_other_pieces_make_tasks(at_once):
    repeated()
    at_once.clear()
    values = numbers(1)
    wanted = by_tasks(softmax, values)
    moved = np.concatenate([values, values])
    for x in (
        on_dask(values, rows=ROWS // 4),
        on_dask(moved)[ROWS:],
        tfr.from_native(da.from_array(values, chunks=(32, COLUMNS)).map_blocks(np.copy)),
    ):
        assert np.array_equal(softmax(x).numpy(), wanted)
    assert not at_once


def test_who_watches_sees_tasks(at_once):
    x = repeated()
    at_once.clear()
    wanted = by_tasks(softmax, numbers())
    with Watching() as watching:
        found = softmax(x).compute()
    assert len(watching.seen) == BLOCKS
    assert np.array_equal(found.numpy(), wanted)
    with tfr.profile():
        found = softmax(x).compute()
    assert np.array_equal(found.numpy(), wanted)
    with tfr.config.override(check_nan=True):
        found = softmax(x).compute()
    assert np.array_equal(found.numpy(), wanted)
    with dask.config.set(scheduler="processes"):
        assert running.unwatched_workers() is None
    assert not at_once
    softmax(x).compute()
    assert len(at_once) == 1


def test_without_room_tasks_run_in_order(at_once, monkeypatch):
    values = np.tile(numbers(), (1, 4))  # light plans are compared with nothing
    blocks = da.from_array(values, chunks=(ROWS // BLOCKS, values.shape[1]))
    x = tfr.from_native(blocks.persist())
    for _ in range(2):
        wanted = softmax(x).compute().numpy()
    assert len(at_once) >= 1
    at_once.clear()
    monkeypatch.setattr(within, "pool", pool_with(0))
    with pytest.raises(tfr.errors.OutOfMemoryError, match="nothing has run"):
        softmax(x).compute()
    assert not at_once
    monkeypatch.undo()
    assert np.array_equal(softmax(x).numpy(), wanted)


def test_other_numbers_are_other_numbers(at_once):
    x = on_dask(numbers())
    for number in (2.0, 2.0, 3.0, -0.0, 0.0, 0.0):
        found = tfr.exp(x * number) / number if number else tfr.copysign(x, number)
        on_cpu = tfr.asarray(numbers(), device="cpu")
        wanted = tfr.exp(on_cpu * number) / number if number else tfr.copysign(on_cpu, number)
        assert np.array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize(
    ("raised", "error"), [(KeyboardInterrupt, CancelledError), (RuntimeError, KernelError)]
)
def test_what_fails_at_once_names_its_line(raised, error, monkeypatch):
    x = repeated()

    def failing(*_):
        raise raised("broken")

    monkeypatch.setattr(repeating._AtOnce, "run", failing)
    y = softmax(x)
    with pytest.raises(error) as caught:
        y.compute()
    if raised is RuntimeError:
        assert "return tfr.softmax(x, axis=1)" in str(caught.value)
    assert not y.is_computed
    monkeypatch.undo()
    assert np.array_equal(y.numpy(), by_tasks(softmax, numbers()))


def test_what_fails_in_a_known_graph_names_its_line(monkeypatch):
    x = on_dask(numbers())
    for _ in range(2):
        tfr.sum(tfr.exp(x)).compute()

    def failing(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(PartialCall, "__call__", failing)
    total = tfr.sum(tfr.exp(x))  # this line
    with pytest.raises(KernelError) as caught:
        total.compute()
    assert "# this line" in str(caught.value)
    monkeypatch.undo()
    assert np.array_equal(total.numpy(), by_tasks(lambda x: tfr.sum(tfr.exp(x)), numbers()))


@pytest.mark.parametrize("program", [softmax, tfr.sum])
def test_nothing_of_the_operands_is_kept(program):
    values = numbers()
    gone = weakref.ref(values)
    x = on_dask(values)
    for _ in range(3):
        program(x).compute()
    del values, x
    gc.collect()
    assert gone() is None


def test_arrays_of_a_form_are_those_that_dask_makes():
    values = numbers()
    native = on_dask(values).native()
    blocks = {("again", *key[1:]): native.dask[key] for key in block_keys(native)}
    made = array_of_form("again", blocks, form_of(native))
    other = array_of("again", blocks, native.chunks, native.dtype)
    assert (made.shape, made.chunks, made.dtype) == (other.shape, other.chunks, other.dtype)
    assert made.__dask_keys__() == other.__dask_keys__()
    assert made.dask.dependencies == other.dask.dependencies
    notes = [array.dask.layers["again"].collection_annotations for array in (made, other)]
    assert notes[0] == notes[1]
    assert np.array_equal((made[3:70].T + 1).compute(), values[3:70].T + 1)
    assert np.array_equal(pickle.loads(pickle.dumps(made)).compute(), values)


def test_blocks_of_another_dtype_are_not_the_array_below_them(at_once):
    values = numbers()
    for _ in range(2):
        bits = tfr.from_native(da.from_array(values.view(np.int32), chunks=(32, 64)).persist())
        assert np.array_equal((bits + 1).numpy(), values.view(np.int32) + 1)
    blocks = [values.view(np.int32)[first : first + 32] for first in range(0, ROWS, 32)]
    assert in_one_array(blocks, values.shape) is None
