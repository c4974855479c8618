"""Limits of memory: what is refused before it runs, with which words, and what makes room before that.

On the host a limit counts all that the process has, so its tests run in processes of their own: a new one, and one as
it is at the end of a long run. Limits of other devices count tensors.
"""

import gc
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import c_heap
from tensorframe.errors import OutOfMemoryError, OutOfRangeError
from tensorframe.runtime.execution.events import listen
from tensorframe.testing.boxed import BoxedBackend
from tests.frontend.memories import HOST, LIMITED, MIB, counted, larger, leaf

ROOT = Path(__file__).parents[3]
IS_ALONE = bool(os.environ.get("TESTS_ALONE"))
of_the_host = pytest.mark.skipif(not IS_ALONE, reason="runs in a process of its own")


@pytest.fixture(params=HOST if IS_ALONE else LIMITED)
def device(request):
    if request.param == "llvm":
        pytest.importorskip("llvmlite")
    gc.collect()
    return request.param


@pytest.mark.skipif(IS_ALONE, reason="is one of those processes")
@pytest.mark.parametrize(
    "arguments",
    [[], ["-p", "tests.frontend.large_process", "-k", "before"]],
    ids=["new", "large"],
)
def test_limits_of_the_host_hold_in_processes_of_their_own(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, __file__],
        cwd=ROOT,
        env=os.environ | {"TESTS_ALONE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_does_not_fit_is_refused_before_it_runs(device):
    x = (leaf(device) * 2).compute()
    events = []
    with tfr.memory.limit(counted(device) + 16 * MIB, device=device):
        y = larger(x)
        with (
            listen(lambda event: events.append(event.moment.value)),
            pytest.raises(
                OutOfMemoryError, match=r"6[46] MiB are needed.*nothing has run"
            ) as caught,
        ):
            y.compute()
        assert "step started" not in events or device == "dask"  # whose steps add tasks
        assert not y.is_computed
        assert tfr.sum(x * 0 + 1).item() == x.size  # what fits runs
    text = str(caught.value)
    assert re.search(r"^  in .*add: ", text, re.MULTILINE)  # the step,
    assert "y = larger(x)" in text or "return tfr.reshape" in text  # its line,
    assert "float32[1048576], " in text  # what is held, with its line,
    assert "x = (leaf(device) * 2).compute()" in text
    helps = ["tfr.save", "another axis", "smaller dtype", "del ", "a cluster"]  # and what helps
    assert [text.index(word) for word in helps] == sorted(text.index(word) for word in helps)
    assert np.array_equal(y[-1].numpy(), x.numpy()[:16] + x.numpy()[-1])


@pytest.mark.sweep(5)
def test_every_way_to_run_a_plan_is_refused(device):
    x = leaf(device).compute()
    function = tfr.jit(larger)
    larger(x).compute()
    function(x).compute()
    larger(x).compute()  # by the single path
    refused = tfr.memory.stats()[device].refusals
    with tfr.memory.limit(counted(device) + 16 * MIB, device=device):
        for run in (lambda: larger(x).compute(), lambda: function(x).compute()):
            with pytest.raises(OutOfMemoryError):
                run()
            with tfr.profile(), pytest.raises(OutOfMemoryError):
                run()
        with pytest.raises(OutOfMemoryError):
            tfr.compute(larger(x) + 1, larger(x) * 2)
    assert tfr.memory.stats()[device].refusals >= refused + 5
    assert larger(x)[3, 5].item() == 8.0


def test_less_than_is_in_use_is_too_small(device):
    x = leaf(device).compute()
    for size in (0, "1 KiB", x.nbytes // 2):
        with pytest.raises(OutOfRangeError, match="already"):
            tfr.memory.limit(size, device=device)
    assert (x + 1)[5].item() == 6.0


@pytest.mark.sweep(3)
def test_what_is_counted(device):
    x = leaf(device).compute()
    larger(x).compute()
    tfr.memory.trim()
    tfr.memory.reset_peak()
    start = tfr.memory.stats()[device]
    assert start.peak == start.in_use
    y = larger(x).compute()
    held = tfr.memory.stats()[device]
    assert held.in_use >= start.in_use + y.nbytes
    assert held.peak >= held.in_use
    assert held.allocations > start.allocations
    assert held.counted >= start.counted + 0.9 * y.nbytes
    del y
    gc.collect()
    y = larger(x).compute()
    again = tfr.memory.stats()[device]
    assert (again.hits, again.allocations) == (held.hits + 1, held.allocations)
    tfr.memory.reset_peak(device)
    assert tfr.memory.stats()[device].peak == again.in_use
    del y


@pytest.mark.sweep(3)
def test_callbacks_give_memory_up_before_anything_is_refused(device):
    x = leaf(device).compute()
    cache = {"old": larger(x).compute(), "recent": larger(x).compute()}
    told = []

    def give_up(pressure):
        if pressure.needed:  # else the limit is near, for a process of this size
            told.append(pressure)
            cache.popitem()

    forget = tfr.memory.on_pressure(give_up)
    try:
        with tfr.memory.limit(counted(device) + 8 * MIB, device=device):
            assert larger(x).compute()[2, 3].item() == 5.0  # in what the newest has left
            assert list(cache) == ["old"]
            assert [pressure.needed // MIB for pressure in told] == [66 if device in HOST else 64]
            assert told[0].room < 64 * MIB
            assert told[0].memory == ("cpu" if device in HOST else device)
    finally:
        forget()
    with (
        tfr.memory.limit(counted(device) + 8 * MIB, device=device),
        pytest.raises(OutOfMemoryError),
    ):
        larger(x).compute()
    assert len(told) == 1
    forget()  # again: nothing


@of_the_host
@pytest.mark.skipif("dask" not in HOST, reason="no Dask")
def test_results_in_blocks_are_saved_without_being_there_at_once(tmp_path):
    values = np.random.default_rng(0).random((2048, 1024))
    x = tfr.asarray(values, device="dask").compute()
    # what runs tile by tile has kernels of its own, and compiling one may take 8 MiB: at times more than is left below
    with tfr.memory.limit(counted("dask") + 17 * MIB, device="dask"):
        tfr.save(tmp_path / "y.npy", x * 2 - tfr.mean(x, axis=0))
    compilations = tfr.cache.info().compilations
    with tfr.memory.limit(counted("dask") + 12 * MIB, device="dask"):
        y = x * 2 - tfr.mean(x, axis=0)
        with pytest.raises(OutOfMemoryError):
            y.compute()
        tfr.save(tmp_path / "y.npy", y)
        tfr.save(tmp_path / "x.npy", x)  # which is there, and not in one piece
        assert tfr.cache.info().compilations == compilations
    np.testing.assert_allclose(
        np.load(tmp_path / "y.npy"), values * 2 - values.mean(axis=0), atol=1e-12
    )
    assert np.array_equal(np.load(tmp_path / "x.npy"), values)


@of_the_host
@pytest.mark.skipif(c_heap._library() is None, reason="the C library gives nothing back")
def test_trim_gives_back_what_is_free_in_heaps():
    made = [np.ones(100_000, np.uint8) for _ in range(600)]  # smaller than what is mapped
    kept = made[::2]  # the heap does not shrink
    del made
    before = tfr.memory.stats()["cpu"].counted
    tfr.memory.trim()
    assert before - tfr.memory.stats()["cpu"].counted > 20 * MIB
    assert len(kept) == 300


@of_the_host
@pytest.mark.skipif(c_heap._library() is None, reason="the C library has other heaps")
def test_what_threads_free_is_not_kept_for_them_within_a_limit():
    """The C library keeps twice as much at the end of each thread's heap as the largest block that was ever freed."""
    np.ones(30 * MIB, np.uint8)
    leave = threading.Event()

    def work(done):
        blocks = [np.ones(5 * MIB, np.uint8) for _ in range(4)]
        del blocks
        done.set()
        leave.wait()  # its heap stays

    with tfr.memory.limit(counted("cpu") + 900 * MIB):
        before = counted("cpu")
        for _ in range(3):
            done = threading.Event()
            threading.Thread(target=work, args=(done,), daemon=True).start()
            done.wait()
        assert counted("cpu") < before + 12 * MIB
    leave.set()


@of_the_host
def test_what_a_callback_raises_reaches_whoever_computes():
    x = leaf("cpu").compute()
    forget = tfr.memory.on_pressure(lambda pressure: 1 // 0)
    try:
        with (
            tfr.memory.limit(counted("cpu") + 8 * MIB),
            pytest.raises(ZeroDivisionError),
        ):
            larger(x).compute()
    finally:
        forget()
    assert larger(x)[1, 1].item() == 2.0


@of_the_host
def test_views_and_what_shares_memory_are_listed_once():
    x = leaf("cpu", 1 << 22).compute()
    views = [x[start:].compute() for start in range(4)]
    with tfr.memory.limit(counted("cpu") + 8 * MIB), pytest.raises(OutOfMemoryError) as caught:
        larger(x).compute()
    assert str(caught.value).count("16 MiB: float32") == 1
    assert len(views) == 4


@of_the_host
def test_tensors_of_a_backend_that_is_gone_are_no_obstacle():
    tfr.backends.register(BoxedBackend("passing"))
    left = tfr.ones(100, device="passing").compute()
    tfr.backends.unregister("passing")
    known = tfr.asarray(np.ones(1 << 22, np.float32))
    with tfr.memory.limit(counted("cpu") + 8 * MIB), pytest.raises(OutOfMemoryError) as caught:
        larger(known).compute()
    assert "16 MiB: known float32[4194304], " in str(caught.value)
    assert left.is_computed


@of_the_host
def test_a_loop_of_small_results_ends_at_the_limit():
    """None of them has a plan that would be compared with what is left."""
    x = leaf("cpu", 12_000).compute()
    held = []
    with tfr.memory.limit(counted("cpu") + 24 * MIB) as limit:
        with pytest.raises(OutOfMemoryError, match="nothing has run") as caught:
            held.extend((x + number).compute() for number in range(1000))
        assert 200 < len(held) < 600
        assert tfr.memory.stats()["cpu"].counted <= limit.nbytes
        assert "(x + number).compute()" in str(caught.value)
        assert "del tensors that are not needed" in str(caught.value)
        held.clear()
        assert (x + 1)[3].item() == 4.0
    held = [(x + number).compute() for number in range(1000)]
    assert held[-1][3].item() == 1002.0


@of_the_host
@pytest.mark.parametrize("place", ["cpu", "numpy"])
def test_copies_of_what_lies_in_another_order_count(place):
    """Plans do not know the order of their leaves: who makes the copy counts it."""
    x = tfr.asarray(np.asfortranarray(np.ones((2048, 1024), np.float32)), device=place)
    with tfr.memory.limit(counted(place) + 6 * MIB):
        for copy in (tfr.reshape(x, (-1,)), tfr.reshape(x, (1024, 2048))[::2]):
            with pytest.raises(OutOfMemoryError):
                copy.compute()
    assert tfr.reshape(x, (-1,))[5].item() == 1.0


@of_the_host
def test_numpys_memory_counts_where_there_is_none_for_the_compiler():
    tfr.random.uniform(1000, dtype="float32", key=tfr.random.key(1)).compute()
    draw = tfr.random.uniform(1 << 20, dtype="float32", key=tfr.random.key(2))
    with tfr.memory.limit(counted("cpu") + 8 * MIB), pytest.raises(OutOfMemoryError):
        draw.compute()  # a result of 4 MiB, as much for positions, and rounds of random words


@of_the_host
def test_small_plans_are_never_compared():
    x = leaf("cpu", 5000).compute()
    budget = tfr.memory.stats()
    (x * 2 + 1).compute()
    with tfr.memory.limit(counted("cpu") + MIB):
        assert (x * 2 + 1)[7].item() == 15.0
    assert budget["cpu"].refusals == tfr.memory.stats()["cpu"].refusals
