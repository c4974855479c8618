"""Every kernel that plans have compiles for CUDA, for two generations of GPUs, and computes as NumPy does."""

import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import KernelError
from tensorframe.graph.op import Kind
from tensorframe.testing.random_graph import program_of
from tests.kernel.form_cases import CASES, operand, tensors

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")
pytest.importorskip("numba", reason="the planner groups what kernels compute, where there are any")

from tensorframe.backends.cuda.compiler import compiled, options
from tests.backends.cuda_kernels import compile_all, printed, regions_of, regions_of_rows

ARCHITECTURES = ["sm_80", "sm_90"]
INDICES = [np.uint32, np.uint64]


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture(scope="module")
def texts_of_rows():
    regions = list(regions_of_rows())
    return {
        kind: printed(one for one in regions if one.ops[0].op.kind is kind)
        for kind in (Kind.MAP, Kind.REDUCE, Kind.SCAN)
    }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("kind", "least"), [(Kind.MAP, 900), (Kind.REDUCE, 200), (Kind.SCAN, 50)], ids=str
)
def test_every_row_compiles_on_every_dtype(texts_of_rows, kind, least, architecture):
    texts = texts_of_rows[kind]
    assert len(texts) > least
    compile_all(texts, architecture)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("index", INDICES)
def test_every_form_compiles(index, architecture):
    texts = {}
    for one in CASES.values():
        for shape in (one.shape, tuple(50 * size for size in one.shape)):
            texts |= printed(regions_of(*tensors(one, operand(one, shape))), index)
    assert len(texts) > len(CASES)
    compile_all(texts, architecture)


@pytest.mark.parametrize(
    ("first", "index", "architecture"), [(40_000, np.uint32, "sm_80"), (40_100, np.uint64, "sm_90")]
)
def test_random_programs_compile(first, index, architecture):
    texts = {}
    for seed in range(first, first + 100):
        program = program_of(seed, device="numba")
        with tfr.config.override(**dict(program.options)), tfr.use_backend("numba"):
            results = program.pick(program.values(tfr))
            texts |= printed(
                regions_of(*[one for one in results if isinstance(one, tfr.Tensor)]), index
            )
    assert len(texts) > 100
    compile_all(texts, architecture)


def instructions(expression, *dtypes):
    """The instructions of PTX, with their types, that an expression of matrices becomes."""
    operands = [
        tfr.asarray(np.arange(12).reshape(3, 4).astype(one), device="numba") for one in dtypes
    ]
    code = compile_all(printed(regions_of(expression(*operands))), "compute_80")
    return re.findall(r"^\s+(?:@\S+ )?([a-z]+\.[\w.:]+)", code, re.MULTILINE)


def test_products_and_sums_are_rounded_one_by_one():
    found = instructions(lambda x, y, z: x * y + z, "float32", "float32", "float32")
    assert "mul.rn.f32" in found
    assert "add.rn.f32" in found
    assert not any(one.startswith("fma.") for one in found)


def test_quotients_and_roots_are_rounded_correctly():
    found = instructions(lambda x, y: tfr.sqrt(x / y), "float32", "float32")
    assert "div.rn.f32" in found
    assert "sqrt.rn.f32" in found


def test_formulas_of_vector_math_are_contracted_where_they_say_so():
    assert "fma.rn.f32" in instructions(tfr.exp, "float32")


def test_small_numbers_are_kept(texts_of_rows):
    """CuPy's own way of compiling flushes them to zero, in every instruction."""
    code = compile_all(
        {name: text for name, text in texts_of_rows[Kind.MAP].items() if "float " in text},
        "compute_80",
    )
    assert "add.rn.f32" in code
    assert ".ftz" not in code
    assert "ex2.approx" not in code
    assert "div.full" not in code


def test_half_precision_is_converted_in_one_instruction():
    found = instructions(lambda x: x * 2, "float16")
    assert "cvt.f32.f16" in found
    assert "cvt.rn.f16.f32" in found


def test_positions_have_32_bits_where_these_are_enough():
    x = tfr.asarray(np.zeros((3, 4), np.float32), device="numba")
    short, long = [printed(regions_of(x.T + 1), index) for index in INDICES]
    assert "unsigned long long i" not in "".join(short.values())
    assert "unsigned long long i" in "".join(long.values())


def test_a_source_that_does_not_compile_is_an_error_with_what_the_compiler_says():
    with pytest.raises(KernelError, match=r"k_wrong does not compile(.|\n)*undefined"):
        compiled("k_wrong", 'extern "C" __global__ void k_wrong() { missing(); }', "sm_90")


def test_amd_has_a_spelling_for_each_option_of_nvidia():
    assert "-ffp-contract=off" in options("gfx90a")
    assert not any("ftz" in one or "fmad" in one for one in options("gfx90a"))
