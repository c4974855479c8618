"""Every kernel that plans have compiles for CUDA, for two generations of GPUs, and computes as NumPy does."""

import re
from collections import defaultdict

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import KernelError
from tensorframe.graph.op import Kind
from tensorframe.testing.random_graph import program_of
from tests.kernel.form_cases import CASES, operand

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

from tensorframe.backends.cuda.compiler import compiled, options
from tensorframe.backends.device import lowering, program
from tensorframe.backends.registry import backend_of, forget_plans
from tests.backends.cuda_kernels import DTYPES, compile_all, printed, regions_of_rows
from tests.backends.host_gpu import recorded


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture(scope="module")
def rows():
    """A region of each row, dtype and form, by kind and by the dtype of the last operand."""
    found = defaultdict(list)
    for region in regions_of_rows():
        found[region.ops[0].op.kind, region.inputs[-1][1]].append(region)
    return found


def test_there_are_many_rows(rows):
    for kind, least in ((Kind.MAP, 900), (Kind.REDUCE, 200), (Kind.SCAN, 50)):
        assert sum(len(own) for (other, _), own in rows.items() if other is kind) > least


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", [Kind.MAP, Kind.REDUCE, Kind.SCAN], ids=str)
def test_every_row_compiles_on_every_dtype(rows, kind, dtype):
    """To PTX: what a generation makes of it is for the forms to show."""
    texts = printed(rows[kind, dtype])
    code = compile_all(texts, "compute_80")
    assert code.count(".entry") == len(texts)


# of both: positions of 64 bits, and what the newer generation makes of a kernel
GENERATIONS = {"positions of 32 bits": "sm_80", "positions of 64 bits": "sm_90"}


@pytest.fixture(params=GENERATIONS)
def architecture(request, monkeypatch):
    if "64" in request.param:
        monkeypatch.setattr(lowering, "_SHORT", 0)
    return GENERATIONS[request.param]


@pytest.fixture
def texts():
    with recorded() as found:
        yield found


def test_every_form_compiles(architecture, texts):
    for one in CASES.values():
        for shape in (one.shape, tuple(50 * size for size in one.shape)):
            with tfr.use_backend("cuda"):
                found = one.program(tfr, tfr.asarray(operand(one, shape)))
            tfr.compute(*(found if isinstance(found, list) else [found]))
    assert len(texts) > len(CASES)
    compile_all(texts, architecture)


def test_random_programs_compile(architecture, texts):
    start = 40_000 if architecture == "sm_80" else 40_050
    for seed in range(start, start + 50):
        program_of(seed, device="cuda").run()
    assert len(texts) > 50
    compile_all(texts, architecture)


def test_kernels_of_many_operands_compile(texts):
    """Arguments of a kernel were once limited to 4 KiB."""
    matrices = [tfr.asarray(np.ones((3, 4, 5), np.float32), device="cuda") for _ in range(40)]
    total = matrices[0]
    for index, matrix in enumerate(matrices[1:]):
        total = total + (matrix.mT.mT if index % 2 else matrix[::-1, :, ::-1])
    tfr.compute(total)
    compile_all(texts, "sm_80")


@pytest.mark.parametrize("bits", [4, 8])
def test_products_compile_that_quantise_their_vector(architecture, texts, bits):
    x = tfr.asarray(np.ones((1, 4096), np.float32), device="cuda")
    words = tfr.asarray(np.ones((64, 128 * bits), np.uint32), device="cuda")
    scales = tfr.asarray(np.ones((64, 128), np.float16), device="cuda")
    matrix = tfr.quantization.QuantizedTensor(words, scales, bits=bits, group=32)
    product = (x / tfr.sqrt(tfr.mean(x * x, axis=-1, keepdims=True))) @ matrix.mT
    plan = tfr.explain(product)
    assert plan.kernels == 1, plan
    tfr.compute(product)
    assert any("made2" in text and "dot4" in text for text in texts.values())
    compile_all(texts, architecture)


def test_assignments_compile_that_makers_of_values_do(architecture, texts):
    x, y = [tfr.asarray(np.ones(shape, np.float32), device="cuda") for shape in ((9, 3), (2, 5))]
    index = tfr.asarray(np.array([4, 1], np.int32), device="cuda")
    tfr.compute(x, y, index)
    texts.clear()
    made = y * 2
    x[index] = made[:, 1:4]
    tfr.compute(x, made)
    assert any(" later" in text for text in texts.values())
    compile_all(texts, architecture)


def instructions(texts, expression, *dtypes):
    """The instructions of PTX, with their types, that an expression of matrices becomes."""
    operands = [
        tfr.asarray(np.arange(12).reshape(3, 4).astype(dtype), device="cuda") for dtype in dtypes
    ]
    tfr.compute(expression(*operands))
    code = compile_all(texts, "compute_80")
    return re.findall(r"^\s+(?:@\S+ )?([a-z]+\.[\w.:]+)", code, re.MULTILINE)


def test_products_and_sums_are_rounded_one_by_one(texts):
    found = instructions(texts, lambda x, y, z: x * y + z, "float32", "float32", "float32")
    assert "mul.rn.f32" in found
    assert "add.rn.f32" in found
    assert not any(one.startswith("fma.") for one in found)


def test_quotients_and_roots_are_rounded_correctly(texts):
    found = instructions(texts, lambda x, y: tfr.sqrt(x / y), "float32", "float32")
    assert "div.rn.f32" in found
    assert "sqrt.rn.f32" in found


def test_formulas_of_vector_math_are_contracted_where_they_say_so(texts):
    assert "fma.rn.f32" in instructions(texts, tfr.exp, "float32")


def test_small_numbers_are_kept(rows):
    """CuPy's own way of compiling flushes them to zero, in every instruction."""
    code = compile_all(printed(rows[Kind.MAP, np.dtype(np.float32)]), "compute_80")
    assert "add.rn.f32" in code
    assert ".ftz" not in code
    assert "ex2.approx" not in code
    assert "div.full" not in code


def test_half_precision_is_converted_in_one_instruction(texts):
    found = instructions(texts, lambda x: x * 2, "float16")
    at_once = (
        8 + 1
    )  # a thread takes eight elements by one access, or one where they are not aligned
    assert found.count("cvt.rn.f16.f32") == 2 * at_once  # the product is rounded, and stored
    assert len(found) < 40 * at_once


def test_positions_have_32_bits_where_these_are_enough(texts, monkeypatch):
    x = tfr.asarray(np.zeros((3, 4), np.float32), device="cuda")
    tfr.compute(x.T + 1)
    assert "unsigned int i = " in "".join(texts.values())
    texts.clear()
    monkeypatch.setattr(lowering, "_SHORT", 0)
    tfr.compute(x.T + 2 * x.T)
    assert "unsigned long long i = " in "".join(texts.values())


def test_a_source_that_does_not_compile_is_an_error_with_what_the_compiler_says():
    with pytest.raises(KernelError, match=r"k_wrong does not compile(.|\n)*undefined"):
        compiled("k_wrong", 'extern "C" __global__ void k_wrong() { missing(); }', "sm_90")


def test_amd_has_a_spelling_for_each_option_of_nvidia():
    assert "-ffp-contract=off" in options("gfx90a")
    assert not any("ftz" in option or "fmad" in option for option in options("gfx90a"))


TUNED = {
    "elementwise": ((70, 130), lambda x: tfr.exp(-x * x) * 2),
    "crossing": ((90, 80), lambda x: x[:80] + x[:80].T),
    "rows": ((70, 300), tfr.softmax),
    "columns": ((300, 70), lambda x: x.sum(0)),
    "chunks": ((3, 9000), lambda x: x.sum(1)),
}


@pytest.mark.parametrize("case", TUNED)
def test_every_way_that_tuning_tries_compiles(texts, case):
    shape, compute = TUNED[case]
    place = tfr.Device("cuda")
    queue = backend_of(place).open_device(place).queue
    x = np.ones(shape, np.float32)

    def build():
        program.forget()
        forget_plans()
        compute(tfr.asarray(x, device="cuda")).compute()

    queue.tunings.asked = {}
    build()
    ((name, facts),) = queue.tunings.asked.items()
    queue.tunings.asked = None
    texts.clear()
    ways = [facts.default, *facts.near(facts.default)]
    for way in ways:
        queue.tunings.kernels[name] = way
        build()
    assert len(texts) > 2  # turns are not in the text
    compile_all(texts, "sm_80")


@pytest.mark.sweep(2)
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_factorisations_compile(architecture):
    functions = (
        tfr.linalg.cholesky,
        tfr.linalg.inv,
        tfr.linalg.det,
        lambda x: tfr.linalg.qr(x).Q,
    )
    with recorded() as texts:
        for dtype in ("float32", "float64"):
            for size in (8, 100):
                x = tfr.asarray(np.zeros((3, size, size), dtype), device="cuda")
                for function in functions:
                    tfr.compute(function(x))
    steps = ("cholesky factors", "elimination of small", "elimination in a block", "reflections")
    for step in (*steps, "substitution", "a product of parts", "less a product of parts"):
        assert any(f"// {step}" in text for text in texts.values()), step
    compile_all(texts, architecture)
