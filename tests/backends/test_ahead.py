"""Kernels compiled ahead: all of a plan at once, as they will be needed, to the bytes that the caller would make."""

import ctypes
import faulthandler
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.kernels import kernel, named, operand, over, result
from tests.backends.test_kernel_cache import ROOT, place  # noqa: F401 - a fixture

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm import (
    ahead,
    functions,
    library,
    lowering,
    native,
    passes,
    target,
    workers,
)
from tensorframe.backends.llvm import compile as compiling
from tensorframe.backends.llvm import load as loading
from tensorframe.kernel.ir import Store, load
from tensorframe.runtime.execution import precompilation
from tensorframe.runtime.execution.events import Moment, listen
from tensorframe.runtime.plan_cache import PLANS
from tests.backends.kernels import I

RANDOM = np.random.default_rng(3)


@pytest.fixture
def two_threads(monkeypatch):
    """The option `threads` at 2 on any machine, with nothing planned, lowered or compiled before."""
    monkeypatch.setattr(ahead, "core_count", lambda: 2)
    monkeypatch.setattr(functions, "_functions", {})
    monkeypatch.setattr(ahead, "_jobs", {})
    PLANS.clear()
    lowering.forget()
    with tfr.config.override(threads=2):
        yield
    PLANS.clear()


@pytest.fixture
def noted(monkeypatch):
    """The names of kernels that are begun, of those that callers ask for, and the threads that compile."""
    begun, asked, threads = [], [], set()
    begin, finished = ahead.begin, ahead.finished

    def note_begun(name, text):
        begun.append(name)
        begin(name, text)

    def note_asked(name):
        asked.append(name)
        return finished(name)

    def noting(way):
        def compiled(self, text):
            threads.add(threading.current_thread().name)
            return way(self, text)

        return compiled

    monkeypatch.setattr(ahead, "begin", note_begun)
    monkeypatch.setattr(ahead, "finished", note_asked)
    way = noting(compiling.Compiler.object_code)
    monkeypatch.setattr(compiling.Compiler, "object_code", way)
    return begun, asked, threads


def array(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def layers(x):
    for scale in (1.5, 2.5, 3.5):
        x = tfr.softmax(tfr.tanh(x * scale).T, axis=0) + tfr.cumulative_sum(x.T, axis=1)
    return x


def products(x):
    y = tfr.exp(x @ x.T) + 1
    z = tfr.tanh(y @ x - tfr.max(x, axis=0))
    return tfr.sum(tfr.permute_dims(z.reshape(10, 6, 70), (1, 0, 2)) ** 3, axis=2)


def parts(x):
    y = tfr.cumulative_sum(tfr.sin(x[::2, 3:]), axis=0)
    z = tfr.concat([y, tfr.cumulative_sum(tfr.cos(x[1::2, 3:]), axis=1)], axis=1)
    return tfr.sort(z, axis=1)[:, ::-1] * tfr.log1p(tfr.abs(tfr.mean(z, axis=0)))


def transformed(x):
    spectrum = tfr.fft.rfft(tfr.sin(x), axis=1)
    return tfr.softmax(tfr.abs(spectrum), axis=1) - tfr.cumulative_sum(x[:, :36], axis=1)


def scattered(x):
    sums = tfr.segment_sum(tfr.tanh(x), tfr.asarray(np.arange(60) % 7, device=x.device), 7)
    return tfr.index_add(x, tfr.asarray([3, 3, 59], device=x.device), sums[:3])


PROGRAMS = [layers, products, parts, transformed, scattered]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_foreseen_is_needed(two_threads, place, noted, program):  # noqa: F811
    begun, asked, _ = noted
    x = array(60, 70)
    found = program(tfr.asarray(x, device="llvm")).numpy()
    assert len(begun) >= 2
    assert set(begun) <= set(asked)
    expected = program(tfr.asarray(x, device="numpy")).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_every_kernel_of_a_plan_is_begun_before_the_first_runs(two_threads, place, noted):  # noqa: F811
    begun, asked, _ = noted
    ready = []

    def note(event):
        if event.moment is Moment.STEP_STARTED and not ready:
            ready.extend(begun)

    with listen(note):
        layers(tfr.asarray(array(60, 70), device="llvm")).numpy()
    kernels = {name for name in asked if name.startswith("k_")}
    assert len(kernels) > 3
    assert set(ready) == kernels


def test_what_hands_kernels_to_workers_is_compiled_when_callers_have_been_alone_for_a_while(
    two_threads,
    place,  # noqa: F811
    noted,
    monkeypatch,
):
    monkeypatch.setattr(workers._State, "pool", None)
    monkeypatch.setattr(workers._State, "alone", 0)
    monkeypatch.setattr(workers, "_ALONE_AT_FIRST", 1 << 60)
    monkeypatch.setattr(workers, "core_count", lambda: 2)
    monkeypatch.setattr(functions, "_placed", set())
    workers.begin_workers.cache_clear()
    begun, asked, _ = noted
    x = tfr.asarray(array(200_000), device="llvm")
    alone = tfr.exp(x).numpy()
    assert begun == []
    assert workers._State.pool is None
    assert workers._State.alone > 0
    monkeypatch.setattr(workers, "_ALONE_AT_FIRST", 0)
    monkeypatch.setattr(workers, "_LONGEST_ALONE", 0)
    np.testing.assert_array_equal(tfr.exp(x).numpy(), alone)
    assert begun == [workers._NAME]
    assert asked.index(workers._NAME) > 0
    workers._State.pool.close()


def test_one_thread_compiles_by_itself(two_threads, place, noted):  # noqa: F811
    begun, asked, threads = noted
    with tfr.config.override(threads=1):
        layers(tfr.asarray(array(60, 70), device="llvm")).numpy()
    assert begun
    assert set(begun) <= set(asked)
    assert not [name for name in threads if "compiler" in name]


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_waits_to_be_compiled_when_the_steps_run(two_threads, place, threads):  # noqa: F811
    begun, waiting = [], []

    def note(event):
        if event.moment is Moment.STEP_STARTED:
            jobs = list(ahead._jobs.values())
            begun.append(len(jobs))
            waiting.extend(job for job in jobs if job.code is None and not job.claim.locked())

    with tfr.config.override(threads=threads), listen(note):
        layers(tfr.asarray(array(60, 70), device="llvm")).numpy()
    assert begun[0] > 3
    assert not waiting


def test_without_room_for_the_compiler_nothing_is_compiled_ahead(two_threads, monkeypatch):
    with tfr.config.override(threads=1):
        ahead.begin("k_waiting", next(texts()))
        for has_room in (False, True):
            budget = SimpleNamespace(has_room=lambda _, answer=has_room: answer)
            monkeypatch.setattr(ahead, "pool", SimpleNamespace(budget=budget))
            ahead.work_off()
            assert (ahead._jobs["k_waiting"].code is not None) == has_room
    ahead.clear()


def test_steps_of_equal_regions_are_one_kernel_to_foresight(two_threads, place, noted):  # noqa: F811
    """A network of many layers has more steps than kernels that are remembered, and few kernels."""
    begun, asked, _ = noted
    x = tfr.asarray(array(60, 70), device="llvm")
    for number in range(precompilation._MOST + 1):
        x = tfr.cumulative_sum(x * 0.5, axis=number % 2)
    x.numpy()
    kernels = {name for name in asked if name.startswith("k_")}
    assert kernels
    assert kernels <= set(begun)


def test_a_recorded_function_has_its_kernels_from_the_first_call_on(two_threads, place):  # noqa: F811
    """What is made of a product runs by NumPy at first, and by a kernel from the fourth call on."""
    weight, bias = tfr.asarray(array(128, 128)), tfr.asarray(array(128))
    step = tfr.jit(lambda x: (x @ weight + bias, tfr.exp(x)))
    x = tfr.asarray(array(768, 128))
    counts = []
    for _ in range(5):
        step(x)
        counts.append(len(functions._functions))
    assert counts[0] == counts[-1] > 0


def test_the_gradient_of_attention_is_foreseen(two_threads, place, noted):  # noqa: F811
    begun, asked, _ = noted

    def loss(q, k, v):
        return tfr.sum(tfr.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True) ** 2)

    operands = [tfr.asarray(array(12, 4, 64, 32), device="llvm") for _ in range(3)]
    tfr.jit(tfr.grad(loss, argnums=(0, 1, 2)))(*operands)
    kernels = {name for name in asked if name.startswith("k_")}
    assert len(kernels) > 2
    assert kernels <= set(begun)


def test_a_second_process_begins_nothing(two_threads, place, noted, monkeypatch):  # noqa: F811
    begun, _, _ = noted
    x = array(60, 70)
    first = layers(tfr.asarray(x, device="llvm")).numpy()
    del begun[:]
    monkeypatch.setattr(functions, "_functions", {})  # what is on disk is all that is left
    PLANS.clear()
    assert np.array_equal(layers(tfr.asarray(x, device="llvm")).numpy(), first)
    assert not begun


def texts():
    """The texts of a kernel on vectors, and of one that goes through LLVM's passes."""
    x, y = operand(0, "float32"), result(0, "float32")
    for step in (1, 3):
        yield named(kernel([over(Store(y, I * step, load(x, I * step) * 2.5))], [x], [y]))[1]


NEEDS_NO_PASSES = """; no passes
define void @doubled(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
  %x = load <8 x float>, ptr %fixed, align 4
  %y = fadd <8 x float> %x, %x
  store <8 x float> %y, ptr %varying, align 4
  ret void
}
"""


@pytest.mark.parametrize("text", [NEEDS_NO_PASSES, native.text(), *texts()])
def test_all_ways_make_the_same_bytes(monkeypatch, text):
    expected = compiling.object_code(text)
    assert compiling.Compiler().object_code(text) == expected
    level = compiling._level(text)
    assert passes.PassCompiler().object_code(text, level) == expected
    if not compiling.needs_passes(text):
        generator = compiling._Generator(library.library(), None)
        assert generator.object_code(text, level) == expected
    with monkeypatch.context() as patch:
        for module in (compiling, passes, target):
            patch.setattr(module, "library", lambda: None)
        assert compiling.Compiler().object_code(text) == expected


def test_some_texts_need_passes():
    assert not compiling.needs_passes(NEEDS_NO_PASSES)
    assert all(map(compiling.needs_passes, texts()))


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("no module", "parsing"),
        (
            "define i32 @f() {\nentry:\n br label %a\na:\n %x = phi i32 [1, %a]\n ret i32 %x\n}",
            "PHI",
        ),
    ],
)
def test_a_wrong_module_is_told_of(body, match):
    text = f"; no passes\n{body}"
    assert compiling._Generator(library.library(), None).object_code(text, 3) is None
    with pytest.raises(RuntimeError, match=match):
        compiling.object_code(text)


def test_what_llvmlite_links_runs_as_well(monkeypatch):
    code = compiling.object_code(NEEDS_NO_PASSES)
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    for way in (library.library(), None):
        monkeypatch.setattr(loading, "library", lambda way=way: way)
        y[:] = 0
        placed = loading.Placed("doubled", code, ["doubled"])
        placed.function("doubled").call(0, 5, y.ctypes.data_as(ctypes.c_char_p), x.tobytes())
        np.testing.assert_array_equal(y, x * 2)
        with pytest.raises(RuntimeError):
            loading.Placed("missing", code, ["no_such_symbol"])


def test_another_version_of_llvmlite_is_asked_about_each_function(monkeypatch):
    monkeypatch.setattr(library, "_KNOWN", frozenset())
    assert library.library.__wrapped__() is not None


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("parse", ("ParseAssemblyElsewhere", [], None)),
        ("free", ("DisposeMemoryBuffer", ["LLVMModuleRef"], ctypes.c_int)),
        ("size", ("GetBufferSize", ["LLVMMemoryBufferRef"], ctypes.c_int)),
        ("emit", ("TargetMachineEmitToMemory", ["NoSuchRef"], "LLVMMemoryBufferRef")),
    ],
)
def test_another_llvmlite_compiles_one_kernel_after_the_other(monkeypatch, name, signature):
    monkeypatch.setattr(library, "_KNOWN", frozenset())
    monkeypatch.setitem(library._SIGNATURES, name, signature)
    assert library.library.__wrapped__() is None
    monkeypatch.setattr(ahead, "library", lambda: None)
    monkeypatch.setattr(ahead, "core_count", lambda: 8)
    with tfr.config.override(threads=8):
        assert ahead.helpers() == 0


def test_this_llvmlite_is_known():
    """A version that is not gets into the table when this holds of it."""
    llvmlite = pytest.importorskip("llvmlite")
    assert library.is_as_written()
    assert ".".join(llvmlite.__version__.split(".")[:2]) in library._KNOWN


def test_what_another_version_says_of_the_machine_is_the_same(monkeypatch):
    known = target.processor(), target.compiler_name(), target.target_machine().target_data
    monkeypatch.setattr(target, "library", lambda: None)
    machine = target.new_target_machine()
    asked = target.processor.__wrapped__(), target.compiler_name(), str(machine.target_data)
    assert asked == known


def test_what_does_not_compile_is_told_where_it_is_needed(two_threads, place):  # noqa: F811
    ahead.begin("k_wrong", "no module")
    with pytest.raises(RuntimeError, match="parsing"):
        functions.kernel_function("k_wrong", "no module")


def test_who_waits_takes_up_other_jobs(two_threads, monkeypatch):
    monkeypatch.setattr(ahead, "_hire", lambda wanted: None)
    first, second = (ahead._Job(name, name) for name in ("k_first", "k_second"))
    first.claim.acquire()  # a thread is at it

    def compiled(text):
        assert text == "k_second"
        first.code = b"first"
        first.claim.release()
        return b"second"

    monkeypatch.setattr(ahead, "object_code", compiled)
    monkeypatch.setattr(ahead, "_jobs", {"k_first": first, "k_second": second})
    ahead._State.queue.put(second)
    assert ahead.finished("k_first") == b"first"
    assert ahead.finished("k_second") == b"second"
    assert ahead.finished("k_second") is None


def test_what_nobody_has_begun_is_compiled_by_who_needs_it(two_threads, monkeypatch):
    monkeypatch.setattr(ahead, "_hire", lambda wanted: None)
    ahead.begin("k_waiting", "text")
    assert ahead.finished("k_waiting") is None
    assert not ahead._jobs
    ahead.clear()


def test_what_nobody_comes_for_is_forgotten(two_threads, monkeypatch):
    monkeypatch.setattr(ahead, "_hire", lambda wanted: None)
    monkeypatch.setattr(ahead, "_MOST", 3)
    for number in range(5):
        ahead.begin(f"k_{number}", "text")
    assert list(ahead._jobs) == ["k_2", "k_3", "k_4"]
    ahead.clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_meanwhile_compiles_by_itself(two_threads, place):  # noqa: F811
    statuses = []
    for number in range(4):
        x = tfr.asarray(array(40, 50 + number), device="llvm")
        y = tfr.tanh(x * (number + 0.5)) - tfr.cumulative_sum(x, axis=1)
        z = tfr.softmax(y, axis=0)
        for waiting in range(number + 1):
            ahead.begin(f"k_{number}_{waiting}", next(texts()))
        process = os.fork()
        if process == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            status = 1
            try:
                status = 0 if abs(float(tfr.sum(z)) - z.shape[1]) < 1e-2 else 2
            finally:
                os._exit(status)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        assert abs(float(tfr.sum(z)) - z.shape[1]) < 1e-2
    assert statuses == [0] * 4


END = """
import os, sys
from tensorframe.backends.llvm import ahead
from tests.backends.test_ahead import texts
ahead.core_count = ahead.thread_count = lambda: 3
for number in range(40):
    ahead.begin(f"k_{number}", list(texts())[number % 2])
print(ahead.statistics.begun)
"""


def test_the_end_of_the_process_waits_for_llvm():
    done = subprocess.run(
        [sys.executable, "-c", END],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\n", "")


def test_a_profile_tells_each_kernel_once_with_its_step(two_threads, place):  # noqa: F811
    with tfr.profile() as p:
        layers(tfr.asarray(array(60, 70), device="llvm")).numpy()
    made = [one for one in p.kernels_made if one.name.startswith("k_")]
    assert len({one.name for one in made}) == len(made) > 3
    assert all(one.step and one.seconds > 0 for one in made)
    assert p.summary.making > 0
