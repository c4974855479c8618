"""`elementwise` of functions that ask for values: compiled by Numba, and inlined in our kernels."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import FallbackWarning, TracingError
from tensorframe.frontend.user_functions import compiled
from tensorframe.schedule.fallback import forget_warnings

pytest.importorskip("numba", reason="Numba compiles functions that ask for values")

from tensorframe.backends.llvm.passes import PassCompiler

HOSTS = ["numpy", "llvm", "cpu"]
OTHERS = [name for name in ("opencl", "wgpu") if name in tfr.backends.available()]
SPECIAL = [0.0, -0.0, 1.0, -2.5, 9.0, 1e-300, 1e300, math.inf, -math.inf, math.nan]


def is_inside(z):
    return abs(z) < 2.0


@tfr.elementwise(static_argnames="limit")
def escape(c, limit=30):
    """Steps until a point escapes, and where it is then."""
    z = 0j
    steps = 0
    while steps < limit and is_inside(z):
        z = z * z + c
        steps += 1
    return steps, z


@tfr.elementwise
def root(x, tolerance=1e-12):
    if x < 0 or math.isnan(x):
        return math.nan
    if x == 0 or math.isinf(x):
        return x
    guess = x
    for _ in range(2000):
        following = 0.5 * (guess + x / guess)
        if abs(following - guess) <= tolerance * following:
            break
        guess = following
    return following


@tfr.elementwise
def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@tfr.elementwise
def chosen(x, flag, other):
    return x if flag and x > other else root(abs(other))


def points():
    real, imaginary = np.meshgrid(np.linspace(-2, 1, 60), np.linspace(-1.5, 1.5, 50))
    return real + 1j * imaginary


def run(function, *arrays):
    """What plain Python computes, element by element."""
    results = [
        function.__wrapped__(*one)
        for one in zip(*[a.ravel().tolist() for a in arrays], strict=True)
    ]
    return np.array(results).reshape(arrays[0].shape)


@pytest.mark.parametrize("device", HOSTS)
def test_a_loop_on_values_has_the_values_of_plain_python(device):
    c = points()
    steps, last = escape(tfr.asarray(c, device=device))
    assert (steps.dtype, last.dtype) == (np.int64, np.complex128)
    plan = tfr.explain(steps, last)
    with tfr.config.override(small_size=0, small_nodes=0):
        tfr.compute(steps, last)
    expected = [escape.__wrapped__(one) for one in c.ravel().tolist()]
    np.testing.assert_array_equal(steps.numpy().ravel(), [one for one, _ in expected])
    np.testing.assert_allclose(last.numpy().ravel(), [z for _, z in expected], rtol=1e-12)
    assert plan.kernels == 1
    assert "escape" in str(plan)


@pytest.mark.parametrize("device", HOSTS)
def test_branches_have_the_values_of_plain_python(device):
    x = np.array(SPECIAL)
    with tfr.config.override(small_size=0, small_nodes=0):
        got = root(tfr.asarray(x, device=device)).numpy()
    np.testing.assert_array_equal(got, run(root, x))
    assert math.copysign(1, got[1]) == -1


@pytest.mark.parametrize("device", ["llvm", "cpu"])
def test_it_fuses_with_its_neighbours(device):
    c = tfr.asarray(points(), device=device)
    steps, last = escape(c * 0.5, limit=20)
    total = tfr.sum(tfr.where(steps > 5, tfr.abs(last), 0.0))
    plan = total.explain()
    assert plan.kernels == 1
    assert plan.bytes_written == 8
    names = plan.steps[0].name.split()
    assert names.count("escape") == 1
    assert names[0] == "multiply"
    expected = [escape.__wrapped__(one, 20) for one in (points() * 0.5).ravel().tolist()]
    wanted = sum(abs(z) for steps, z in expected if steps > 5)
    np.testing.assert_allclose(total.item(), wanted, rtol=1e-12)


def test_several_results_are_one_call_in_the_kernel(monkeypatch, tmp_path):
    texts = []
    original = PassCompiler.optimised

    def noted(self, text):
        module = original(self, text)
        texts.append((text, str(module)))
        return module

    monkeypatch.setattr(PassCompiler, "optimised", noted)

    @tfr.elementwise
    def halves(x):
        steps = 0
        while abs(x) > 0.12345:
            x = math.sqrt(abs(x)) * 0.3
            steps += 1
        return steps, x + 1j * steps

    x = np.linspace(0, 5, 5000)
    steps, last = halves(tfr.asarray(x, device="llvm"))
    with tfr.config.override(cache_dir=str(tmp_path)):  # where no kernel is yet
        tfr.compute(steps, last)
    ((text, optimised),) = [pair for pair in texts if "@user_" in pair[0]]
    assert text.count("= call {") == 3
    # inlined, with one loop for the three results; the loop over elements is unrolled on some processors
    assert 3 * optimised.count("call double @llvm.sqrt") == optimised.count(" store ")
    assert "call i32" not in optimised
    np.testing.assert_array_equal(last.numpy().imag, steps.numpy())


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", HOSTS)
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64"]
)
def test_dtypes(device, dtype):
    x = np.array([0, 1, 2, 3, 5]).astype(tfr.dtypes.as_dtype(dtype))
    flag = np.array([True, False, True, False, True])
    result = chosen(
        tfr.asarray(x, device=device), flag, 1.5 if np.dtype(x.dtype).kind not in "biu" else 1
    )
    wanted = tfr.dtypes.float_of(tfr.dtypes.as_dtype(dtype))
    assert result.dtype == wanted
    with tfr.config.override(small_size=0, small_nodes=0):
        got = result.numpy().astype(float)
    other = 1 if np.dtype(x.dtype).kind in "biu" else 1.5
    python = [chosen.__wrapped__(float(a), bool(b), other) for a, b in zip(x, flag, strict=True)]
    np.testing.assert_allclose(got, python, rtol=1e-2 if "16" in dtype else 1e-6)


def test_integers_and_bools_stay_what_they_are():
    @tfr.elementwise
    def both(n):
        if n > 2:
            return n * 2, True
        return n, n == 1

    number, flag = both(np.arange(4))
    assert (number.dtype, flag.dtype) == (np.int64, np.bool_)
    assert number.tolist() == [0, 1, 2, 6]
    assert flag.tolist() == [False, True, False, True]
    assert collatz(np.array([1, 7, 27])).tolist() == [0, 16, 111]


@pytest.mark.parametrize("device", OTHERS)
def test_other_devices_fall_back(device):
    x = tfr.asarray(np.linspace(0.5, 2, 300, dtype=np.float32), device=device)
    result = root(x) + 1
    forget_warnings()
    with pytest.warns(
        FallbackWarning, match=f"root of float32 runs on cpu instead of {device}.*machine code"
    ):
        plan = result.explain()
    assert plan.fallbacks >= 1
    assert str(result.device).startswith(device)
    np.testing.assert_allclose(result.numpy(), np.sqrt(x.numpy()) + 1, rtol=1e-6)


def test_plans_for_devices_that_are_not_here_know_that_it_runs_on_the_cpu():
    x = tfr.asarray(np.linspace(0.5, 2, 300, dtype=np.float32))
    forget_warnings()
    with pytest.warns(FallbackWarning, match="root of float32 runs on cpu"):
        assert tfr.estimate(root(x), device="cuda").transfers == 2


def test_under_jit():
    @tfr.jit
    def shifted(x, by):
        return root(x) + by

    x = tfr.asarray(np.linspace(1, 2, 500))
    np.testing.assert_allclose(shifted(x, 2.0).numpy(), np.sqrt(x.numpy()) + 2, rtol=1e-12)
    np.testing.assert_allclose(shifted(x, 3.0).numpy(), np.sqrt(x.numpy()) + 3, rtol=1e-12)


def test_it_is_compiled_once_for_its_dtypes_and_again_when_a_constant_changes():
    bound = 1.0

    @tfr.elementwise
    def clipped(x):
        return bound if x > bound else x + 0

    x = tfr.asarray([0.5, 3.0])
    assert clipped(x).node.op is clipped(x + 1).node.op
    assert clipped(x).tolist() == [0.5, 1.0]
    bound = 2.0
    assert clipped(x).tolist() == [0.5, 2.0]


def test_names_of_parameters_are_free():
    @tfr.elementwise
    def odd(function, found, kind0=1.0):
        return function if found > 0 else kind0

    assert odd(np.array([1.0, 2.0]), np.array([1.0, -1.0])).tolist() == [1.0, 1.0]
    assert odd(found=np.array([-1.0]), function=2.0, kind0=5.0).tolist() == [5.0]


def test_where_it_would_raise_there_is_no_number():
    @tfr.elementwise
    def looked_up(n):
        table = (1.0, 2.0, 4.0)
        return table[n] if n < 5 else 0.0

    with tfr.config.override(small_size=0, small_nodes=0):
        got = looked_up(tfr.asarray([0, 2, 7], device="llvm")).tolist()
    assert got == [1.0, 4.0, 0.0]


def refusals():
    def raises(x):
        if x > 0:
            raise ValueError(x)
        return x

    def text(x):
        return "positive" if x > 0 else "negative"

    def nothing(x):
        if x > 0:
            return x
        return None

    def unknown(x):
        return tfr.sin(x) if x > 0 else x

    return [
        (raises, "raises an exception", "raise ValueError(x)"),
        (text, "returns unicode_type", "if x > 0"),
        (nothing, "None, at least sometimes", "if x > 0"),
        (unknown, "Numba does not compile it", "if x > 0"),
    ]


@pytest.mark.parametrize(("function", "match", "line"), refusals())
def test_what_cannot_be_compiled_names_the_line(function, match, line):
    with pytest.raises(TracingError, match=match) as caught:
        tfr.elementwise(function)(np.ones(3))
    assert line in caught.value.location
    assert "tfr.where" in str(caught.value)


def test_without_numba_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiled, "is_installed", lambda name: False)
    with pytest.raises(
        TracingError, match="Numba, which would compile it, is not installed"
    ) as caught:
        tfr.elementwise(lambda x: 1.0 if x > 0 else x)(1.0)
    assert "pip install tensorframe-lazy[numba]" in str(caught.value)


def test_methods_are_not_compiled():
    class Clip:
        bound = 1.0

        @tfr.elementwise
        def apply(self, x):
            return self.bound if x > self.bound else -x

    with pytest.raises(TracingError, match="methods are not compiled"):
        Clip().apply(2.0)


def test_numba_is_imported_when_the_first_function_needs_it():
    program = """
import sys
import tensorframe as tfr
traced = tfr.elementwise(lambda x: x * 2)
traced(tfr.ones(3)).numpy()
asks = tfr.elementwise(lambda x: x if x > 0 else -x)
assert "numba" not in sys.modules
asks(tfr.ones(3)).numpy()
assert "numba" in sys.modules
"""
    with warnings.catch_warnings():
        subprocess.run([sys.executable, "-c", program], check=True)
