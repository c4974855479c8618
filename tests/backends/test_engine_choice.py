"""Which engine of the cpu runs: by what was recorded, and where both give the same bits, by how often it ran."""

from threading import get_ident

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import objects
from tensorframe.backends.cpu import choice
from tensorframe.backends.cpu.choice import CountingProgram
from tensorframe.backends.cpu.evaluation import NotEvaluatedError, evaluator
from tensorframe.backends.cpu.functions import CpuFunctions
from tensorframe.dtypes import ANY, FLOAT
from tensorframe.errors import OutOfMemoryError
from tensorframe.graph.op import find
from tensorframe.runtime.plan_cache import PLANS

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")
from tensorframe.backends.llvm.program import KernelProgram
from tensorframe.backends.llvm.ufunc import ufunc

LARGE = 10_000


@pytest.fixture(autouse=True)
def no_plans():
    PLANS.clear()
    yield
    PLANS.clear()


def programs(*results):
    """The programs of the plan of results, which is run once."""
    tfr.compute(*results)
    (plan,) = [entry[0] for entries in PLANS._plans.values() for entry in entries.values()]
    return [action[1] for action in plan.runner.actions]


def operands(count=LARGE):
    generator = np.random.default_rng(0)
    return [tfr.asarray(generator.standard_normal(count).astype(np.float32)) for _ in range(2)]


def test_what_numpy_has_other_bits_for_is_compiled_at_once():
    x, y = operands()
    (program,) = programs(tfr.exp(x) + y)
    assert type(program).__name__ == "KernelProgram"
    PLANS.clear()
    (program,) = programs(tfr.sum(x, axis=0) * 2)
    assert type(program).__name__ == "KernelProgram"


def test_exact_ops_begin_in_numpy_and_change_after_so_many_operations(monkeypatch):
    monkeypatch.setattr(choice, "ENOUGH", 3 * 2 * (LARGE + choice._OF_A_CALL))
    x, y = operands()
    right = x.numpy() * 3 - y.numpy()
    (program,) = programs(x * 3 - y)
    assert isinstance(program, CountingProgram)
    for run in range(1, 6):
        assert (program._kernels is not None) == (run > 3)
        assert np.array_equal((x * 3 - y).numpy(), right)


def test_neither_time_nor_what_is_on_disk_decides(monkeypatch):
    """However long NumPy takes: kernels that a run before has left on disk stay there."""
    x, y = operands()
    monkeypatch.setattr(choice, "ENOUGH", -1)
    (program,) = programs(x * 3 - y)
    assert program._kernels is not None
    monkeypatch.setattr(choice, "ENOUGH", 1 << 60)
    PLANS.clear()
    read = []
    monkeypatch.setattr(objects, "read", read.append)
    (program,) = programs(x * 3 - y)
    for _ in range(50):
        (x * 3 - y).compute()
    assert program._kernels is None
    assert not read


@pytest.mark.parametrize("shape", [(), (5,), (3, 4)], ids=str)
@pytest.mark.parametrize("name", ["exp", "maximum", "gelu", "hypot", "floor_divide", "logaddexp"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_small_graphs_have_the_bits_of_kernels(name, dtype, shape):
    generator = np.random.default_rng(1)
    arity = find(name).arity
    arrays = [
        generator.standard_normal((*shape, 60)).astype(tfr.dtypes.as_dtype(dtype))
        for _ in range(arity)
    ]
    operands = [tfr.asarray(one[..., ::2]) for one in arrays]
    small = getattr(tfr, name)(*operands)
    scalar = getattr(tfr, name)(*operands[:-1], operands[-1][..., :1])
    one = small.numpy(), scalar.numpy()
    assert len(PLANS) == 0
    with tfr.config.override(small_size=0, small_nodes=0):
        planned = (
            getattr(tfr, name)(*operands),
            getattr(tfr, name)(*operands[:-1], operands[-1][..., :1]),
        )
        other = [each.numpy() for each in planned]
    for left, right in zip(one, other, strict=True):
        assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("name", ["multiply", "exp", "sqrt"])
def test_small_complex_results_have_the_bits_of_kernels(name):
    generator = np.random.default_rng(2)
    values = (generator.standard_normal((2, 50)) + 1j * generator.standard_normal((2, 50))).astype(
        "complex64"
    )
    operands = [tfr.asarray(one) for one in values[: find(name).arity]]
    small = getattr(tfr, name)(*operands).numpy()
    with tfr.config.override(small_size=0, small_nodes=0):
        assert getattr(tfr, name)(*operands).numpy().tobytes() == small.tobytes()


REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std", "logsumexp"]


@pytest.mark.sweep(6)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", [*REDUCTIONS, "softmax", "cumulative_sum", "cumulative_prod"])
def test_small_reductions_have_the_bits_of_kernels(name, dtype):
    generator = np.random.default_rng(4)
    is_complex = dtype == "complex64"
    if is_complex and name in ("max", "min", "softmax", "logsumexp"):
        return
    for shape in ((7,), (300,), (64, 64), (100, 3), (17, 31, 3)):
        values = generator.standard_normal(shape)
        values[abs(values) < 0.4] *= 0  # zeros of both signs
        x = tfr.asarray((values + 1j * values[::-1] if is_complex else values).astype(dtype))
        for axis in range(len(shape)):
            PLANS.clear()
            small = getattr(tfr, name)(x, axis=axis).numpy()
            assert len(PLANS) == (is_complex and name == "prod")
            with tfr.config.override(small_size=0, small_nodes=0):
                planned = getattr(tfr, name)(x, axis=axis).numpy()
            assert small.tobytes() == planned.tobytes(), (shape, axis)


def test_a_kernel_takes_the_place_of_a_formula_with_the_same_bits(monkeypatch):
    """The first results of an op on a dtype are evaluated by NumPy, for there to be some before LLVM is loaded."""
    functions = CpuFunctions(FLOAT)
    made = []
    monkeypatch.setattr(
        "tensorframe.backends.llvm.ufunc.ufunc", lambda *kind: made.append(kind) or ufunc(*kind)
    )
    x = np.random.default_rng(3).standard_normal(50).astype(np.float32)
    results = [functions[find("tanh")](x).tobytes() for _ in range(30)]
    assert set(results) == {results[0]}
    assert len(made) == 1
    functions[find("tanh")](x.astype(np.float64))
    assert len(made) == 1


def test_the_kernel_of_a_long_formula_comes_sooner_where_llvm_is_loaded(monkeypatch):
    made = []
    monkeypatch.setattr(
        "tensorframe.backends.llvm.ufunc.ufunc", lambda *kind: made.append(kind) or ufunc(*kind)
    )
    x = np.linspace(0.5, 2.0, 50, dtype=np.float32)
    monkeypatch.setattr("tensorframe.backends.cpu.functions.is_loaded", lambda: False)
    functions = CpuFunctions(FLOAT)
    results = {functions[find("pow")](x, x).tobytes() for _ in range(8)}
    assert not made
    monkeypatch.setattr("tensorframe.backends.cpu.functions.is_loaded", lambda: True)
    functions = CpuFunctions(FLOAT)
    results |= {functions[find("pow")](x, x).tobytes() for _ in range(8)}
    assert len(made) == 1
    assert len(results) == 1


def test_what_has_no_way_in_numpy_is_compiled_at_once():
    functions = CpuFunctions(ANY)
    x = np.array([1 + 2j, 3 - 4j], np.complex64)
    found = functions[find("multiply")](x, x)
    assert found.tobytes() == ufunc(find("multiply"), (), [x.dtype] * 2, x.dtype)(x, x).tobytes()
    with pytest.raises(NotEvaluatedError):
        evaluator(find("multiply"), (), [x.dtype] * 2, x.dtype)(x, x)
    tiny = np.full(3, 2.0**-1000)
    with pytest.raises(NotEvaluatedError):
        evaluator(find("tan"), (), [tiny.dtype], tiny.dtype)(tiny)


def test_kernels_of_a_products_blocks_are_made_once_before_threads_share_them(monkeypatch):
    bound = []
    bind = KernelProgram._bind

    def noted(program, inputs):
        bound.append((program, get_ident()))
        return bind(program, inputs)

    monkeypatch.setattr(KernelProgram, "_bind", noted)
    x = np.random.default_rng(5).standard_normal((1024, 256)).astype(np.complex64)
    x = tfr.asarray(x)  # which BLAS multiplies: tiles are only of real numbers
    with tfr.config.override(threads=4):
        tfr.exp(x @ x[:256] * 0.01).compute()
    assert [thread for _, thread in bound] == [get_ident()]


@pytest.mark.parametrize("name", ["where", "logical_or", "remainder", "nextafter", "floor_divide"])
def test_what_numpy_is_slow_at_gets_a_kernel_sooner_with_the_same_bits(name, monkeypatch):
    size = LARGE
    monkeypatch.setattr(choice, "ENOUGH", 3 * choice.SLOW[name] * size)
    functions = CpuFunctions(ANY)
    monkeypatch.setattr("tensorframe.backends.cpu.engine._FUNCTIONS", functions)
    monkeypatch.setattr("tensorframe.runtime.eager.small_graphs._functions", {})
    made = []
    monkeypatch.setattr(
        "tensorframe.backends.llvm.ufunc.ufunc", lambda *kind: made.append(kind) or ufunc(*kind)
    )
    generator = np.random.default_rng(4)
    dtype = "int32" if name == "floor_divide" else "float32"
    x, y = (tfr.asarray((9 * generator.standard_normal(size) + 20).astype(dtype)) for _ in range(2))
    operands = (x > 20, x, y) if name == "where" else (x, y)
    tfr.compute(*operands)
    results = []
    for run in range(1, 7):
        results.append(getattr(tfr, name)(*operands).numpy().tobytes())
        if name != "remainder":  # whose sign is another op's
            assert len(made) == (run > 3)
    assert set(results) == {results[0]}
    assert made


def test_operands_that_lie_across_each_other_get_a_kernel_sooner_with_the_same_bits():
    x, y = (tfr.asarray(np.random.default_rng(seed).random((300, 300))) for seed in (1, 2))

    def work(expression):
        plan = expression.explain()
        (region,) = [step.region for step in plan.steps if hasattr(step, "region")]
        return choice.operations(region)

    along = [work(x + y), work(x.T + y.T), work(x.T * 2 + y[:, :1]), work((x.T + y.T).T + x)]
    across = [work(x.T + y), work(x + (y * 2).T), work((x.T + y.T).T + x.T)]
    assert max(along) < 6 * x.size
    assert min(across) > choice._ACROSS * x.size
    expected = x.numpy().T + y.numpy()
    results = {(x.T + y).numpy().tobytes() for _ in range(3)}
    with tfr.use_backend("llvm"):
        results.add((x.to_backend("llvm").T + y.to_backend("llvm")).numpy().tobytes())
    assert results == {expected.tobytes()}


def test_numpy_goes_on_where_there_is_no_room_for_the_compiler(monkeypatch):
    monkeypatch.setattr(choice, "ENOUGH", 2 * 2 * (LARGE + choice._OF_A_CALL))
    x, y = operands()
    right = x.numpy() * 3 - y.numpy()
    (program,) = programs(x * 3 - y)
    with monkeypatch.context() as without:
        without.setattr(choice.pool.budget.__class__, "has_room", lambda *_: False)
        for _ in range(5):
            assert np.array_equal((x * 3 - y).numpy(), right)
        assert program._kernels is None
    for _ in range(3):
        assert np.array_equal((x * 3 - y).numpy(), right)
    assert program._kernels is not None


def test_a_kernel_that_cannot_be_compiled_within_a_limit_is_refused(monkeypatch, tmp_path):
    x, y = operands()
    before = tfr.config.get().cache_dir
    tfr.config.configure(cache_dir=str(tmp_path / "kernels"))
    try:
        z = tfr.exp(x * 0.375) - y / 1.25 + tfr.expm1(y)
        with monkeypatch.context() as without:
            without.setattr(choice.pool.budget.__class__, "has_room", lambda *_: False)
            with pytest.raises(OutOfMemoryError, match=r"to compile: 8 MiB are needed on cpu"):
                z.compute()
        assert not z.is_computed
        assert z.shape == z.numpy().shape  # once there is room
    finally:
        tfr.config.configure(cache_dir=before)
