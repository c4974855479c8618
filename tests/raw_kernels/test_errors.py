"""What is wrong with a raw kernel is said with the user's own line, or before anything runs."""

import linecache
import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DeviceError, DTypeError, KernelError, ShapeError
from tests.backends.devices import FOUND

X = np.arange(6, dtype=np.float32)


def doubled(**changes):
    facts = {
        "inputs": {"x": "float32[n]"},
        "outputs": {"out": "float32[n]"},
        "source": {"opencl": "out[i] = 2 * x[i];", "wgsl": "out[i] = 2 * x[i];"},
    }
    return tfr.raw_kernel("doubled", **facts | changes)


# a language and its device, a body, the line that is wrong, and what the compiler says of it
BROKEN = {
    "an unknown name": (
        "opencl",
        "float y = x[i];\nout[i] = y + z;",
        2,
        "undeclared identifier 'z'",
    ),
    "a missing semicolon": ("opencl", "\n    float y = x[i]\n    out[i] = y;\n", 1, "expected ';'"),
    "an array as a number": (
        "opencl",
        "int j = i;\n\nfloat y = x;\nout[j] = y;",
        3,
        "incompatible type",
    ),
    "an input that is written": ("opencl", "out[i] = x[i];\nx[i] = 0;", 2, "read-only|const"),
    "a name that WGSL does not know": (
        "wgsl",
        "let y = x[i];\nout[i] = y + z;",
        2,
        "identifier: `z`",
    ),
    "no statement": ("wgsl", "let y = x[i];\nlet z y;\nout[i] = y;", 2, "expected"),
    "an integer and a float": (
        "wgsl",
        "var y = x[i];\ny = y * i;\nout[i] = y;",
        2,
        "convert elements of `i32`",
    ),
    "an input that WGSL's body writes": ("wgsl", "out[i] = x[i];\n\nx[i] = 0;", 3, "not permitted"),
}


def requires(language):
    device = {"opencl": "opencl", "wgsl": "wgpu"}[language]
    if device not in FOUND:
        pytest.skip(f"there is no {device} here")
    return device


@pytest.mark.parametrize("name", BROKEN)
def test_a_body_that_does_not_compile(name):
    language, body, line, message = BROKEN[name]
    kernel = doubled(source={language: body})
    result = kernel(tfr.asarray(X, device=requires(language)) + 1)
    with pytest.raises(KernelError) as caught:
        result.numpy()
    said = caught.value.message
    lines = body.strip("\n").split("\n")
    assert re.search(message, said), said
    assert f"line {line} of the body" in said
    assert f">   {line} | {lines[line - 1].strip()}" in said
    assert "test_errors.py" in caught.value.location
    assert "kernel(tfr.asarray(X" in caught.value.location


@pytest.mark.parametrize("language", ["opencl", "wgsl"])
def test_a_brace_that_is_missing(language):
    result = doubled(source={language: "if (i < 3) {\nout[i] = x[i];"})(
        tfr.asarray(X, device=requires(language))
    )
    with pytest.raises(KernelError, match="not in a line of the body: a brace"):
        result.numpy()


def without_a_name(i, x, out):
    y = x[i]
    out[i] = y + missing  # noqa: F821


def writes_its_input(i, x, out):
    out[i] = x[i]

    x[i] = 0


def adds_a_text(i, x, out):
    out[i] = x[i] + "one"


FUNCTIONS = {
    without_a_name: (3, "missing"),
    writes_its_input: (4, "readonly|read only|modify"),
    adds_a_text: (2, "no add.float32"),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_that_numba_does_not_compile(function):
    pytest.importorskip("numba")
    line, message = FUNCTIONS[function]
    with pytest.raises(KernelError) as caught:
        doubled(source={"cpu": function})(X).numpy()
    said = caught.value.message
    own = linecache.getline(__file__, function.__code__.co_firstlineno + line - 1).rstrip()
    assert re.search(message, said), said
    assert f"line {line} of the body" in said
    assert f">   {line} | {own}" in said


@pytest.mark.parametrize("language", ["opencl", "wgsl"])
def test_the_whole_text_of_one_that_does_not_compile_can_be_read(language):
    broken = doubled(source={language: "out[i] = z;"})(tfr.asarray(X, device=requires(language)))
    text = str(broken.explain(source=True))
    assert "out[i] = z;" in text
    assert "tfr_body(" in text


# --- refused when they are declared

UNDECLARED = {
    "a language": ({"source": {"metal": ""}}, "no device runs 'metal'"),
    "no source": ({"source": {}}, "source is a mapping"),
    "a text for the cpu": ({"source": {"cpu": "out[i] = 1"}}, "is a function, got str"),
    "a function for a device": ({"source": {"wgsl": abs}}, "is a text"),
    "no identifier": ({"inputs": {"x y": "float32[n]"}}, "'x y' is no identifier"),
    "a word of OpenCL": (
        {"inputs": {"global": "float32[n]"}},
        "'global' is a reserved word of OpenCL C",
    ),
    "a word of WGSL": ({"inputs": {"target": "float32[n]"}}, "'target' is a reserved word of WGSL"),
    "a word of C as a size": (
        {"inputs": {"x": "float32[int]"}, "outputs": {"out": "float32[1]"}},
        "'int' is a reserved word",
    ),
    "a name of ours": ({"inputs": {"tfr_at": "float32[n]"}}, "begins with 'tfr_'"),
    "a name twice": ({"outputs": {"x": "float32[n]"}}, "'x' is the name of two things"),
    "a size as an index": ({"grid": {"n": "n"}}, "'n' is the name of two things"),
    "an unknown size": ({"outputs": {"out": "float32[m]"}}, "'m' cannot be known"),
    "an unknown extent": ({"grid": {"i": "n * m"}}, "'n \\* m' cannot be known"),
    "an expression as an input's size": (
        {"inputs": {"x": "float32[n + 1]"}},
        "is a name or a number",
    ),
    "no size": ({"outputs": {"out": "float32[n, ]"}}, "cannot read the size ''"),
    "a call": ({"outputs": {"out": "float32[f(n)]"}}, "cannot read the size 'f\\(n\\)'"),
    "no declaration": ({"inputs": {"x": "float32 n"}}, "cannot read 'float32 n'"),
    "an output without a shape": ({"outputs": {"out": "float32"}}, "has no shape"),
    "nothing to read": ({"inputs": {}}, "at least one of each"),
    "nothing to write": ({"outputs": {}}, "at least one of each"),
    "a list": ({"inputs": ["x"]}, "is a mapping of names"),
    "a group of two for one index": ({"group": (8, 8)}, "threads along each of 1 indices"),
    "a group of none": ({"group": 0}, "threads along each"),
    "shared memory of nobody": ({"shared": {"tile": "float32[8]"}}, "shared memory is of groups"),
    "a static array": ({"static": ("x",)}, "static names x"),
    "a reference that is none": ({"reference": 3}, "reference is a function"),
    "a function of other names": (
        {"source": {"cpu": lambda k, x: None}},
        "takes k, which is no name",
    ),
    "a function of some indices": (
        {"grid": {"i": "n", "j": 2}, "source": {"cpu": lambda i, x, out: None}},
        "takes the indices i of i, j",
    ),
}


@pytest.mark.parametrize("name", UNDECLARED)
def test_what_cannot_be_declared(name):
    changes, message = UNDECLARED[name]
    with pytest.raises(ArgumentError, match=message) as caught:
        doubled(**changes)
    assert "test_errors.py" in caught.value.location


def test_a_dtype_that_nothing_decides():
    with pytest.raises(DTypeError, match="no dtype 'T', and no input array decides it"):
        doubled(outputs={"out": "T[n]"})
    with pytest.raises(DTypeError, match="a number is real"):
        doubled(inputs={"x": "float32[n]", "a": "complex64"})


# --- refused when they are called


def test_operands_that_do_not_fit():
    kernel = doubled(
        inputs={"x": "float32[n]", "y": "float32[n, 3]", "k": "uint8"}, reference=lambda x, y, k: x
    )
    y = np.ones((6, 3), np.float32)
    for arguments, error, message in (
        ((X,), ArgumentError, "takes x, y, k, got 1 operands"),
        ((X, y, 1, 2), ArgumentError, "got 4 operands"),
        ((X.astype("f8"), y, 1), DTypeError, "x is declared as float32, got float64"),
        ((y, y, 1), ShapeError, r"x is declared with shape \[n\], got \(6, 3\)"),
        ((X[:5], y, 1), ShapeError, "n is 5 by an operand before"),
        ((X, y[:, :2], 1), ShapeError, "3 is 3"),
        ((X, y, 1.5), DTypeError, "k is declared as uint8, got the number 1.5"),
        ((X, y, 300), OverflowError, "300 is outside the range of uint8"),
        ((X, y, "1"), DTypeError, "k is a number, got str"),
        ((X, y, X), DTypeError, "k is a number, got ndarray"),
    ):
        with pytest.raises(error, match=message):
            kernel(*arguments)
    with pytest.raises(ArgumentError, match="takes x, y, k"):
        kernel(X, y, k=1, x=X)


def test_one_dtype_for_two_names():
    kernel = doubled(
        inputs={"x": "T[n]", "y": "T[n]"}, outputs={"out": "T[n]"}, reference=lambda x, y: x
    )
    with pytest.raises(
        DTypeError, match="y is declared as T, which is float32 in this call, got int32"
    ):
        kernel(X, X.astype("i4"))


def test_sizes_that_are_none():
    kernel = doubled(outputs={"out": "float32[n - 9]"}, reference=lambda x: x)
    with pytest.raises(ArgumentError, match="the size 'n - 9' is -3 where n = 6"):
        kernel(X)
    kernel = doubled(grid={"i": "n * 1000000000"}, reference=lambda x: x)
    with pytest.raises(ArgumentError, match="is 6000000000 where n = 6"):
        kernel(X)
    kernel = doubled(grid={"i": "n * 100000000", "j": "n * 100000000"}, reference=lambda x: x)
    with pytest.raises(ArgumentError, match="more than 2147483647 indices"):
        kernel(X)


@pytest.mark.parametrize("device", FOUND)
def test_groups_and_memory_beyond_the_limits_of_a_device(device):
    x = tfr.asarray(X, device=device)
    with pytest.raises(
        ArgumentError, match=r"a group of 1048576 has 1048576 threads, \w+ takes \d+"
    ):
        doubled(group=1 << 20)(x).numpy()
    with pytest.raises(
        ArgumentError, match=r"shared memory of 4000000000 bytes, a group of \w+ has \d+"
    ):
        doubled(group=8, shared={"tile": "float32[1000, 1000, 1000]"})(x).numpy()
    many = {f"x{place}": "float32[n]" for place in range(1 << 10)}
    if device == "wgpu":
        with pytest.raises(ArgumentError, match=r"1025 arrays are more than a kernel"):
            doubled(inputs=many)(*[x] * len(many)).numpy()


def test_dtypes_that_a_device_lacks():
    requires("wgsl")
    info = next(info for info in tfr.backends.devices() if str(info.device) == "wgpu")
    x = tfr.asarray(X, device="wgpu")
    if np.dtype("float64") not in info.capabilities.dtypes:
        with pytest.raises(DTypeError, match="out is float64, which wgpu does not hold"):
            doubled(outputs={"out": "float64[n]"})(x)
    small = doubled(inputs={"x": "T[n]"}, outputs={"out": "T[n]"})
    with pytest.raises(DeviceError, match="WGSL has no int8 for raw kernels"):
        small(tfr.asarray(X.astype("i1"), device="wgpu"))


def test_a_device_without_a_source():
    kernel = doubled(source={"cuda": "out[i] = x[i];"})
    with pytest.raises(
        DeviceError, match="no source in Python, which cpu runs; it has sources for cuda"
    ):
        kernel(X)


def test_references_that_are_something_else():
    for function, error, message in (
        (lambda x: x[1:], ShapeError, r"gives shape \(5,\) for out, declared is \(6,\)"),
        (lambda x: x > 1, DTypeError, "gives bool for out, declared is float32"),
        (lambda x: (x, x), ShapeError, "gives 2 results, outputs are out"),
        (lambda x: x if x.sum() > 1 else x * 2, TypeError, "asks for the value of x"),
        (
            lambda x: x + tfr.asarray(X),
            TypeError,
            "a tensor of shape .6,. that is none of its inputs",
        ),
    ):
        with pytest.raises(error, match=message):
            doubled(reference=function)(X)
