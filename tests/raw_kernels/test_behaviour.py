"""What a raw kernel is given, and how its op behaves: in plans, in `jit`, under transformations, in other processes."""

import pickle
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import FallbackWarning, GradientError, KernelError, TransferError
from tensorframe.schedule.capture import capture
from tensorframe.schedule.fallback import forget_warnings
from tests.backends.devices import FOUND, holds

pytest.importorskip("numba", reason="the cpu's sources are compiled by Numba")

X = np.arange(6, dtype=np.float32)
LANGUAGES = {"cpu": "cpu", "opencl": "opencl", "wgpu": "wgsl", "cuda": "cuda"}
DEVICES = ["cpu", *FOUND]
on_devices = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def _planned():
    forget_warnings()
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def source(device, text, function):
    """A source for the language of one device."""
    language = LANGUAGES[device]
    return {language: function if language == "cpu" else text}


def shifted(i, x, a, out):
    out[i] = x[i] + a


def shift(device, dtype="float32", **changes):
    facts = {
        "inputs": {"x": f"{dtype}[n]", "a": dtype},
        "outputs": {"out": f"{dtype}[n]"},
        "source": source(device, "out[i] = x[i] + a;", shifted),
    }
    return tfr.raw_kernel("shift", **facts | changes)


# --- operands


@pytest.mark.sweep(3)
@on_devices
@pytest.mark.parametrize(
    "dtype", ["int32", "uint32", "float32", "float64", "int64", "uint64", "int8", "uint16"]
)
def test_every_dtype_that_a_language_has(device, dtype):
    if not holds(device, dtype) or (device == "wgpu" and np.dtype(dtype).itemsize < 4):
        pytest.skip(f"{device} has no {dtype}")
    x = tfr.asarray(np.arange(7).astype(dtype), device=device)
    large = 2**40 + 3 if np.dtype(dtype).itemsize == 8 else 3
    found = shift(device, dtype)(x, large)
    assert found.dtype == np.dtype(dtype)
    assert found.tolist() == [large + index for index in range(7)]


def conjugated(i, z, out):
    out[i] = z[i].conjugate()


@on_devices
def test_complex_numbers_are_pairs(device):
    body = "out[i] = z[i]; out[i].y = -z[i].y;"
    kernel = tfr.raw_kernel(
        "conjugate",
        {"z": "complex64[n]"},
        {"out": "complex64[n]"},
        source=source(device, body, conjugated),
    )
    z = np.asarray([1 + 2j, -3j, 4], np.complex64)
    assert kernel(tfr.asarray(z, device=device)).tolist() == z.conj().tolist()


def chosen(i, x, negative, out):
    out[i] = -x[i] if negative[i] else x[i]


@on_devices
def test_truth_values_are_integers(device):
    body = "out[i] = x[i]; if (negative[i] != 0) { out[i] = -x[i]; }"
    kernel = tfr.raw_kernel(
        "choose",
        {"x": "float32[n]", "negative": "bool[n]"},
        {"out": "float32[n]"},
        source=source(device, body, chosen),
    )
    x = tfr.asarray(X, device=device)
    assert kernel(x, x > 3).tolist() == np.where(X > 3, -X, X).tolist()


def copied(i, j, x, out):
    out[i, j] = x[i, j]


@on_devices
def test_views_come_in_c_order(device):
    kernel = tfr.raw_kernel(
        "copy_of",
        {"x": "float32[h, w]"},
        {"out": "float32[h, w]"},
        source=source(device, "out[i * w + j] = x[i * w + j];", copied),
    )
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = tfr.asarray(values, device=device)
    tfr.compute(x)
    for view, expected in (
        (x.T, values.T),
        (x[1:3, ::2], values[1:3, ::2]),
        (x[::-1], values[::-1]),
        (tfr.broadcast_to(x[0], (3, 6)), np.broadcast_to(values[0], (3, 6))),
    ):
        assert kernel(view).tolist() == expected.tolist()


@on_devices
def test_no_elements(device):
    x = tfr.asarray(X[:0], device=device)
    assert shift(device)(x, 1.0).tolist() == []
    both = shift(device, outputs={"out": "float32[n]", "two": "float32[n]"})(x, 1.0)
    assert [one.tolist() for one in both] == [[], []]


def first_of(x, out):
    out[()] = x[()] * 2


@on_devices
def test_an_array_without_axes(device):
    kernel = tfr.raw_kernel(
        "first_of",
        {"x": "float32[]"},
        {"out": "float32[]"},
        source=source(device, "out[0] = x[0] * 2;", first_of),
    )
    assert kernel(tfr.asarray(np.float32(4), device=device)).item() == 8
    assert kernel(tfr.asarray(X, device=device)[2] + 1).item() == 6


@on_devices
def test_numbers_are_arguments_of_plans(device):
    x = tfr.asarray(X, device=device)
    kernel = shift(device)
    keys = {capture([kernel(x, a).node]).key for a in (3.5, 2.5)}
    assert len(keys) == 1
    assert [kernel(x, a).tolist()[0] for a in (1.0, 2.5, -7)] == [1.0, 2.5, -7.0]
    assert kernel(x, tfr.asarray(X, device=device)[3] * 2).tolist() == (X + 6).tolist()


def powers(i, x, count, out):
    out[i] = x[i] ** count


def test_static_numbers_are_part_of_the_text():
    kernel = tfr.raw_kernel(
        "repeat",
        {"x": "float32[n]", "count": "int32"},
        {"out": "float32[n, count]"},
        source={"opencl": "out[i * 3 + j] = x[i];"},
        static="count",
        reference=lambda x, count: tfr.stack([x ** (power + 1) for power in range(count)], axis=1),
    )
    with pytest.warns(FallbackWarning, match="repeat: its reference runs on cpu"):
        assert kernel(X, 3).tolist() == np.stack([X, X**2, X**3], axis=1).tolist()
    assert kernel(X, 2).shape == (6, 2)


def two(i, x, first, second):
    first[i] = x[i] + 1
    second[i] = int(x[i]) * 2


@on_devices
def test_several_outputs(device):
    integer = "i32(x[i])" if device == "wgpu" else "(int)x[i]"
    kernel = tfr.raw_kernel(
        "two",
        {"x": "float32[n]"},
        {"first": "float32[n]", "second": "int32[n]"},
        source=source(device, f"first[i] = x[i] + 1; second[i] = {integer} * 2;", two),
    )
    first, second = kernel(tfr.asarray(X, device=device))
    assert first.tolist() == (X + 1).tolist()  # one after the other, so the kernel's values stay
    assert (second + 1).tolist() == (2 * X + 1).astype(int).tolist()


@on_devices
def test_groups_beyond_the_edge_of_the_grid_and_grids_larger_than_a_launch(device):
    if device == "cpu":
        return
    body = "if (i < n) { out[i] = x[i] + T(i_local + 16 * i_group - i); }"
    body = body if device == "wgpu" else body.replace("T(", "(T)(")
    kernel = tfr.raw_kernel(
        "grouped", {"x": "T[n]"}, {"out": "T[n]"}, source={LANGUAGES[device]: body}, group=16
    )
    values = np.arange(1001, dtype=np.float32)
    assert kernel(tfr.asarray(values, device=device)).tolist() == values.tolist()


@on_devices
def test_more_groups_than_a_launch_has(device, monkeypatch):
    if device == "cpu":
        return
    from tensorframe.backends.registry import backend_of

    x = tfr.asarray(np.arange(3000, dtype=np.float32), device=device)
    tfr.compute(x)
    opened = backend_of(x.device).open_device(x.device)
    monkeypatch.setattr(opened.queue, "traits", _with(opened.queue.traits, max_groups=2))
    assert shift(device)(x, 1.0).tolist() == (np.arange(3000) + 1).tolist()


def _with(record, **changes):
    from dataclasses import replace

    return replace(record, **changes)


# --- plans


@on_devices
def test_jit_replays_it(device):
    kernel = shift(device)
    calls = []

    @tfr.jit
    def step(x, a):
        calls.append(None)
        return kernel(x * 2, a) - 1

    x = tfr.asarray(X, device=device)
    assert [step(x, a).tolist()[1] for a in (1.0, 4.0, 9.5)] == [2.0, 5.0, 10.5]
    assert len(calls) == 1


def test_plans_are_shared_by_equal_sources_and_no_others():
    def kernel(text):
        return tfr.raw_kernel(
            "same_name", {"x": "float32[n]"}, {"out": "float32[n]"}, source={"opencl": text}
        )

    if "opencl" not in FOUND:
        pytest.skip("there is no opencl here")
    x = tfr.asarray(X, device="opencl")
    assert kernel("out[i] = x[i] + 1;")(x).tolist() == (X + 1).tolist()
    assert kernel("out[i] = x[i] + 2;")(x).tolist() == (X + 2).tolist()
    keys = [capture([kernel(f"out[i] = x[i] + {a};")(x).node]).key for a in (1, 2, 1)]
    assert keys[0] == keys[2] != keys[1]


def test_a_profile_and_explain_name_it():
    with tfr.profile() as found:
        result = shift("cpu")(tfr.asarray(X) + 1, 2.0) * 2
        text = str(result.explain(source=True))
        result.numpy()
    assert "shift" in str(found)
    assert "def shifted(i, x, a, out):" in text
    assert "for i in range(tfr_start, tfr_stop):" in text


def test_an_estimate_prices_the_reference():
    plain = tfr.estimate(shift("cpu", reference=lambda x, a: x + a)(X, 1.0))
    costly = tfr.estimate(
        shift("cpu", reference=lambda x, a: tfr.exp(tfr.sin(x) * tfr.exp(x)) + a)(X, 1.0)
    )
    assert costly.flops > 2 * plain.flops > 0


def test_a_reference_serves_devices_without_a_source():
    if "wgpu" not in FOUND:
        pytest.skip("there is no wgpu here")
    kernel = shift("cpu", reference=lambda x, a: x + a)
    x = tfr.asarray(X, device="wgpu")
    with pytest.warns(
        FallbackWarning, match=r"shift: its reference runs on wgpu: it has no source in WGSL"
    ):
        (result,) = tfr.compute(kernel(x, 3.0))
    assert result.tolist() == (X + 3).tolist()
    assert str(result.device) == "wgpu"


def test_without_a_reference_the_cpu_serves():
    if "wgpu" not in FOUND:
        pytest.skip("there is no wgpu here")
    kernel = shift("cpu")
    x = tfr.asarray(X, device="wgpu")
    with pytest.warns(
        FallbackWarning, match="shift of float32, float32 runs on cpu instead of wgpu"
    ):
        (result,) = tfr.compute(kernel(x, 3.0))
    assert result.tolist() == (X + 3).tolist()
    assert str(result.device) == "wgpu"
    with pytest.raises(TransferError), tfr.transfer_policy("error"):
        kernel(x, 4.0).numpy()


def test_the_cpu_serves_an_engine_without_a_language():
    x = tfr.asarray(X, device="numpy")
    with pytest.warns(FallbackWarning, match="runs on cpu instead of numpy: numpy runs no sources"):
        (result,) = tfr.compute(shift("cpu")(x, 3.0))
    assert result.tolist() == (X + 3).tolist()


def test_numba_is_missing(monkeypatch):
    from tensorframe.schedule import raw_kernels

    monkeypatch.setattr(raw_kernels, "is_installed", lambda name: False)
    with pytest.raises(RuntimeError, match="Numba, which compiles its source, is not installed"):
        shift("cpu")(X, 1.0)
    with pytest.warns(FallbackWarning, match="Numba"):
        assert shift("cpu", reference=lambda x, a: x + a)(X, 1.0).tolist() == (X + 1).tolist()


# --- transformations


@on_devices
def test_a_rule_of_ones_own(device):
    asked = []

    def rule(args, out, ct):
        asked.append((len(args), out.shape))
        return ct * 10, tfr.sum(ct) * 100

    kernel = shift(device, vjp=rule)
    x = tfr.asarray(X, device=device)
    by_x, by_a = tfr.grad(lambda x, a: tfr.sum(kernel(x, a) * 2), argnums=(0, 1))(x, 1.0)
    assert by_x.tolist() == [20.0] * 6
    assert by_a.item() == 1200
    assert asked == [(2, (6,))]


def test_a_rule_for_several_outputs_and_static_numbers():
    def rule(args, out, cts):
        count = args[1]
        assert type(count) is int
        assert len(out) == len(cts) == 2
        return cts[0] + cts[1] * count, None

    kernel = tfr.raw_kernel(
        "both",
        {"x": "float32[n]", "count": "int32"},
        {"first": "float32[n]", "second": "float32[n]"},
        source={"cpu": lambda i, x, first, second: None},
        static="count",
        vjp=rule,
    )
    found = tfr.grad(lambda x: tfr.sum(kernel(x, 5)[1]))(tfr.asarray(X))
    assert found.tolist() == [5.0] * 6


def test_rules_that_do_not_fit():
    x = tfr.asarray(X)
    for rule, message in (
        (lambda args, out, ct: ct, "gives Tensor for 2 inputs"),
        (lambda args, out, ct: (ct,), "gives 1 cotangents for 2 inputs"),
        (lambda args, out, ct: (ct[1:], None), r"shape \(5,\) for x of shape \(6,\)"),
    ):
        kernel = shift("cpu", vjp=rule)
        with pytest.raises(GradientError, match=message):
            tfr.grad(lambda x, kernel=kernel: tfr.sum(kernel(x, 1.0)))(x)
    with pytest.raises(
        GradientError, match="shift: has no gradient: it has neither vjp= nor reference="
    ):
        tfr.grad(lambda x: tfr.sum(shift("cpu")(x, 1.0)))(x)


def test_second_derivatives_and_an_operand_that_is_given_twice():
    kernel = tfr.raw_kernel(
        "times",
        {"x": "float32[n]", "y": "float32[n]"},
        {"out": "float32[n]"},
        source={"cpu": lambda i, x, y, out: None},
        reference=lambda x, y: x * y,
    )
    x = tfr.asarray(X)
    assert tfr.grad(lambda x: tfr.sum(kernel(x, x)))(x).tolist() == (2 * X).tolist()
    second = tfr.grad(lambda x: tfr.sum(tfr.grad(lambda y: tfr.sum(kernel(y, y * y)))(x)))(x)
    assert second.tolist() == (6 * X).tolist()


# --- elsewhere


def test_several_threads():
    kernel = shift("cpu")
    values = np.arange(20_000, dtype=np.float32)
    found = []

    def work(a):
        found.append((a, kernel(tfr.asarray(values), float(a)).numpy()))

    threads = [threading.Thread(target=work, args=(a,)) for a in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(result, values + a) for a, result in found)


def test_its_op_travels_to_other_processes():
    op = shift("cpu", reference=lambda x, a: x + a)(X, 1.0).node.op
    again = pickle.loads(pickle.dumps(op))
    assert again.raw.sources == op.raw.sources
    assert again.raw.reference is None
    assert again.arity == 2


def broken_when_it_runs(x, out):
    raise ValueError("not today")


def test_what_a_function_raises():
    kernel = tfr.raw_kernel(
        "broken", {"x": "float32[n]"}, {"out": "float32[n]"}, source={"cpu": broken_when_it_runs}
    )
    with pytest.raises(KernelError, match="broken failed on cpu: ValueError: not today"):
        kernel(X).numpy()


def test_its_name_shows_the_signature():
    assert repr(shift("cpu")) == (
        "<tensorframe raw kernel shift(x: float32[n], a: float32) -> out: float32[n]: cpu>"
    )
