"""Extension points beside devices: what a program registers works everywhere, or is refused with a reason."""

import io
import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import extension_points
from tensorframe.codegen import opencl
from tensorframe.errors import (
    ArgumentError,
    BackendWarning,
    FileFormatError,
    GradientError,
    TracingError,
)
from tensorframe.extensions import (
    About,
    Column,
    ElementwiseOp,
    FileFormat,
    elements,
    register,
    unregister,
)
from tensorframe.testing.conformance import check_op
from tests.backends.devices import FOUND, holds, on_every_device

X = np.linspace(-2.0, 2.0, 201)
# what a text says that the formula does not: so a test sees which of them ran
_TWICE = "return (x * x + width) * {two};"
TEXTS = {
    "opencl": _TWICE.format(two="(T)2"),
    "cuda": _TWICE.format(two="(T)2"),
    "wgsl": _TWICE.format(two="T(2)"),
}


def parabola(x, width):
    return x * x + width


def op(**said):
    return ElementwiseOp(parabola, **said)


@pytest.fixture
def registered():
    """Have things registered, and forget them after the test."""
    names = []

    def have(value):
        register(value)
        names.append(value.name)
        return value

    yield have
    for name in names:
        unregister(name)


def test_an_op_is_one_row_that_fuses_and_has_its_reference_and_gradient():
    row = op(reference=lambda x, width: np.square(x) + width, name="bowl")
    check_op(row, X, X[::-1] ** 2, devices=["cpu", "numpy"])
    y = row(tfr.asarray(X), 2) * 3
    assert "bowl multiply" in str(y.explain())
    assert y.explain().kernels == 1
    with pytest.raises(AssertionError, match="bowl of float32 on cpu"):
        check_op(op(reference=lambda x, width: x, name="bowl"), X, X, devices=["cpu"])


def test_a_rule_of_its_own_is_asked_through_functions_that_call_the_op_too():
    row = op(vjp=lambda args, out, ct: (ct * 7, None))

    @tfr.elementwise
    def around(x):
        return row(x, 1.0) * 2

    x = tfr.asarray([1.0, 2.0])
    assert tfr.grad(lambda x: tfr.sum(row(x, 1.0)))(x).tolist() == [7.0, 7.0]
    assert tfr.grad(lambda x: tfr.sum(around(x)))(x).tolist() == [14.0, 14.0]
    assert tfr.grad(lambda w: tfr.sum(row(x, w)))(tfr.asarray(1.0)).item() == 0
    short = op(vjp=lambda args, out, ct: ct)
    with pytest.raises(GradientError, match="parabola: its vjp gives Tensor for 2 inputs"):
        tfr.grad(lambda x: tfr.sum(short(x, 1.0)))(x)


@on_every_device
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_device_runs_the_text_in_its_language_in_the_kernel_of_its_neighbours(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    row, array = op(printers=TEXTS), X.astype(dtype)
    y = row(tfr.asarray(array, device=device) + 1, 1.5) - 1
    assert (y.explain().kernels, y.explain().fallbacks) == (1, 0)
    assert "parabola" in y.explain(source=True)
    exact = (np.square(array + dtype_one(dtype)) + np.asarray(1.5, dtype)) * 2 - 1
    np.testing.assert_allclose(y.numpy(), exact, rtol=1e-2 if dtype == "float16" else 1e-5)
    # integers have no text: the formula runs, on the same device
    whole = row(tfr.asarray(np.arange(5, dtype=np.int32), device=device), 1)
    assert whole.tolist() == [1, 2, 5, 10, 17]
    assert whole.explain().fallbacks == 0


def dtype_one(dtype):
    return np.asarray(1, dtype)


def test_devices_without_a_text_run_the_formula():
    row = op(printers=TEXTS | {"chip_of_a_package_that_is_not_here": "return x;"})
    assert row(tfr.asarray([1.0, 2.0]), 0.5).tolist() == [1.5, 4.5]


@pytest.mark.skipif("opencl" not in FOUND, reason="no OpenCL here")
def test_a_text_that_does_not_compile_names_the_kernel():
    row = op(printers={"opencl": "return missing;"})
    with pytest.raises(tfr.errors.KernelError, match="missing"):
        row(tfr.asarray([1.0], device="opencl"), 1.0).numpy()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ElementwiseOp(math.sin), "the definition is a function, got builtin"),
        (lambda: ElementwiseOp(lambda x, n=2: x**n), "n=2 has a default"),
        (lambda: op(vjp=3), "vjp is a function, got int"),
        (lambda: op(reference=3), "reference is a function, got int"),
        (lambda: op(printers={"OpenCL": "return x;"}), "no device runs 'OpenCL'(.|\n)*'opencl'"),
        (lambda: op(printers={"cpu": "return x;"}), "the cpu compiles the definition"),
        (lambda: op(printers={"cuda": math.sin}), "the body in cuda is a text, got builtin"),
        (
            lambda: ElementwiseOp(lambda half: half, printers={"opencl": "return half;"}),
            "'half' is a reserved word of OpenCL C",
        ),
        (lambda: ElementwiseOp(lambda x: (x, x))(1.0), "an op has one result(.|\n)*gives 2"),
        (lambda: register(op(name="Not a name")), "'Not a name' is taken, or no name"),
        (lambda: register(op(about=About(interface=(9, 0)))), "written for version 9.0"),
        (lambda: register("op"), "str extends nothing"),
        (lambda: unregister("parabola"), "no extension was registered as 'parabola'"),
    ],
)
def test_what_is_no_op_is_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()


def test_a_definition_that_reads_values_is_refused():
    with pytest.raises(TracingError, match="the definition of an op is a formula"):
        ElementwiseOp(lambda x: x if x > 0 else -x)(tfr.ones(2))


def test_a_registered_op_is_found_by_name_and_travels_to_other_processes(registered):
    row = registered(op(name="bowl"))
    assert tfr.extensions.ops.bowl is row
    assert "bowl" in dir(tfr.extensions.ops)
    assert pickle.loads(pickle.dumps(row)) is row
    (listed,) = tfr.extensions.listed()
    assert (listed.point, listed.name, listed.problem) == ("op", "bowl", "")
    assert "extension: op bowl, state works" in str(tfr.doctor())
    with pytest.raises(AttributeError, match="no package brings the op 'cup': bowl"):
        _ = tfr.extensions.ops.cup


class Bytes(Column):
    name = "bytes"

    def cell(self, step):
        return str(step.bytes_read + step.bytes_written)


class Failing(Column):
    name = "failing"

    def cell(self, step):
        return f"{1 / 0}"


class Numbers(Column):
    name = "numbers"

    def cell(self, step):
        return 3


def test_a_column_is_shown_by_text_page_and_table(registered):
    registered(Bytes())
    plan = (tfr.asarray(X) + 1).explain()
    assert "bytes 3224]" in str(plan)
    page = plan._repr_html_()
    assert ">bytes</th>" in page
    assert ">3224</td>" in page
    console = pytest.importorskip("rich.console").Console(width=200, file=io.StringIO())
    console.print(plan)
    table = console.file.getvalue()
    assert "bytes" in table
    assert "3224" in table


@pytest.mark.parametrize(("column", "said"), [(Failing, "division by zero"), (Numbers, "no text")])
def test_a_column_that_fails_is_left_out_with_a_warning(registered, column, said):
    registered(column())
    registered(Bytes())
    plan = (tfr.asarray(X) + 1).explain()
    with pytest.warns(BackendWarning, match=f"the column '{column.name}' is left out: .*{said}"):
        assert str(plan).endswith("bytes 3224]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert column.name not in str(plan)  # said once


class Plain(FileFormat):
    """Numbers of float64, and nothing else."""

    name = "plain"

    def read(self, path):
        return elements(path, 0, (3,), "float64")


class Liar(FileFormat):
    name = "liar"

    def read(self, path):
        return {"x": path}

    def write(self, path, tensors, metadata):
        return []


class Raising(FileFormat):
    name = "raising"

    def read(self, path):
        raise KeyError("no such member")


def test_a_format_of_a_package_reads_windows_and_says_what_is_wrong(registered, tmp_path):
    for kind in (Plain, Liar, Raising):
        registered(kind())
    path = tmp_path / "x.plain"
    np.arange(3.0).tofile(path)
    assert tfr.load(path)[1:].tolist() == [1.0, 2.0]
    assert tfr.load_metadata(path) == {}
    with pytest.raises(FileFormatError, match=r"\.plain files are read alone"):
        tfr.save(path, tfr.ones(3))
    path.write_bytes(b"short")
    with pytest.raises(FileFormatError, match="it takes bytes 0 to 24, and there are 5"):
        tfr.load(path)
    for suffix, said in (
        ("liar", "Liar.read gives str, no Reader"),
        ("raising", "its format fails: KeyError: 'no such member'"),
    ):
        (tmp_path / f"x.{suffix}").write_bytes(b"x")
        with pytest.raises(FileFormatError, match=said):
            tfr.load(tmp_path / f"x.{suffix}")
    with pytest.raises(FileFormatError, match=r"Liar\.write gives no sink for each tensor"):
        tfr.save(tmp_path / "x.liar", tfr.ones(3))
    with pytest.raises(FileNotFoundError):
        tfr.load(tmp_path / "missing.plain")
    with pytest.raises(FileFormatError, match=r"the suffix says the format(.|\n)*\.plain"):
        tfr.load(tmp_path / "x.unknown")


def test_names_of_this_package_are_taken(registered):
    class Archive(Plain):
        name = "npz"

    with pytest.raises(ArgumentError, match="'npz' is taken"):
        registered(Archive())


def test_kernels_are_printed_in_dialects_of_devices_that_are_not_here():
    x = tfr.asarray(X.astype("f4"))
    text = (tfr.exp(x) + 1).explain(source="cuda")
    assert 'extern "C" __global__ void __launch_bounds__(256)' in text
    assert "__kernel" in tfr.sum(x.reshape(3, 67), axis=1).explain(source="opencl")
    smooth = tfr.convolve(tfr.exp(x), x[:5])
    assert "// no kernels of work-groups: convolve" in smooth.explain(source="cuda")
    with pytest.raises(ArgumentError, match=r"there is no dialect 'fortran'(.|\n)*opencl, cuda"):
        x.explain(source="fortran")


def dialect(*reserved):
    """A dialect that reserves these words."""
    spoken = opencl.dialect(double=True)
    bodies = replace(spoken.bodies, reserved=frozenset(reserved))
    return replace(spoken, name="bench_c", title="Bench C", bodies=bodies)


def test_sources_know_a_dialect_as_it_is_registered_now():
    body = {"bench_c": "return bead;"}

    def op_of_it():
        return ElementwiseOp(lambda bead: bead, printers=body)

    def kernel_of_it():
        return tfr.raw_kernel("copy", {"bead": "T[n]"}, {"out": "T[n]"}, source=body)

    register(dialect("bead"))
    try:
        for make in (op_of_it, kernel_of_it):
            with pytest.raises(ArgumentError, match="'bead' is a reserved word of Bench C"):
                make()
        register(dialect("wire"))
        op_of_it()
        kernel_of_it()
    finally:
        unregister("bench_c")
    op_of_it()  # its package may be elsewhere
    with pytest.raises(ArgumentError, match="no device runs 'bench_c'") as caught:
        kernel_of_it()
    assert caught.value.suggestions == ("any of opencl, cuda, wgsl, cpu",)


def test_every_point_names_a_class_that_is_there():
    for point in extension_points.POINTS:
        assert point._problem(3).reason.startswith("int is no ")
