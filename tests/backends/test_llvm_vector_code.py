"""Machine code of kernels as LLVM text: vectors, sums in lanes, streams, and what processors have."""

import re
from dataclasses import replace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.llvm import print_kernel, statements
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.forms.sparse import build_sparse
from tensorframe.kernel.ir import (
    START,
    Allocate,
    Buffer,
    Let,
    Loop,
    Prefetch,
    Role,
    Set,
    Store,
    StreamingStore,
    apply,
    index,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import (
    bitcast,
    cast,
    fma,
    maximum,
    multiply_high,
    rint,
    sqrt,
    where,
)
from tensorframe.kernel.math.exponential import exp, exp2
from tensorframe.ops.sparse import SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL
from tests.backends.kernels import (
    I,
    elementwise,
    kernel,
    named,
    operand,
    over,
    result,
    slots,
    text,
)

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm.compile import optimised
from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.target import target
from tests.backends.llvm_values import (
    COUNT,
    F4,
    HALVES,
    MACHINES,
    number,
    same,
    size,
)


def machine_code(name, source):
    return str(optimised(source))


def test_many_operands_become_vector_code_without_checks():
    outputs = [
        ("float32", lambda *given: sum(given[1:], given[0]) * given[0]),
        ("float32", lambda a, b, *rest: maximum(a, b)),
        ("bool", lambda a, b, *rest: a < b),
        (
            HALVES["float16"],
            lambda a, b, c, d, *rest: cast(where(c < d, fma(a, b, c), d), HALVES["float16"]),
        ),
    ]
    code = machine_code(*text(outputs, ["float32"] * 12, machine=MACHINES["elements"]))
    assert "memcheck" not in code
    assert len(re.findall(r"load <\d+ x float>", code)) >= 12


I4, I8 = np.dtype("i4"), np.dtype("i8")
# vectors of float64 become integers of as many bits on some processors alone
WIDE_INTEGERS = [
    pytest.param(
        lambda a: cast(cast(a, I8), a.dtype), "float64", r"fptosi <\d+ x double>", id="int64"
    ),
]


@pytest.mark.parametrize(
    ("expression", "source", "vector"),
    [
        (lambda a: cast(cast(a, I4), F4), "float32", r"fptosi <\d+ x float>"),
        (lambda a: cast(cast(a, I4), a.dtype), "float64", r"fptosi <\d+ x double>"),
        *(WIDE_INTEGERS if "+avx512dq" in target().features else []),
        (lambda a: maximum(a, a * a), "float32", r"llvm\.maximum\.v\d+f32"),
        (lambda a: rint(sqrt(a)), "float64", r"llvm\.rint\.v\d+f64"),
        (lambda a: a * a, "int32", r"mul <\d+ x i32>"),
        (lambda a: multiply_high(a, a), "uint32", r"mul (nuw )?(nsw )?<\d+ x i64>"),
        (lambda a: a + (a << a), "int8", r"shl <\d+ x i8>"),
        (lambda a: a + a, "int32", r"(add|shl) <\d+ x i32>"),
        (lambda a: bitcast(bitcast(a, I4) << 23, F4), "float32", r"shl <\d+ x i32>"),
        (lambda a: cast(a, F4), "float16", r"load <\d+ x (half|i16)>"),
        (lambda a: cast(a, F4), "bfloat16", r"load <\d+ x i16>"),
    ],
)
def test_vector_code(expression, source, vector):
    dtype = HALVES.get(source, np.dtype(source))
    gives = "float32" if source in HALVES else source
    for machine in MACHINES.values():
        code = machine_code(*text([(gives, expression)], [dtype], machine=machine))
        assert re.search(vector, code), code


def test_sums_in_lanes_are_vector_code():
    x, y = operand(0, "float32"), result(0, "float64")
    total, largest, value = (variable(name, y.dtype) for name in ("total", "largest", "value"))
    body = [
        Set(total, number(0.0, "float64")),
        Set(largest, number(-np.inf, "float64")),
        over(
            Let(value, cast(load(x, I), y.dtype)),
            Set(total, apply("accumulate_add", total, value)),
            Set(largest, maximum(largest, value)),
        ),
        Store(y, size(0), total),
        Store(y, size(1), largest),
    ]
    for machine in MACHINES.values():
        code = machine_code(*named(kernel(body, [x], [y]), machine=machine))
        assert re.search(r"fadd <\d+ x double>", code)
        assert re.search(r"llvm\.maximum\.v\d+f64", code)


@pytest.mark.parametrize(("squarings", "side_by_side"), [(2, False), (9, True)])
def test_long_chains_of_ops_are_side_by_side(squarings, side_by_side):
    """As far as a processor looks ahead: short ones go through memory in its order."""
    x, y = operand(0, "float32"), result(0, "float32")
    total, value = variable("total", F4), load(x, I)
    for _ in range(squarings):
        value = value * value
    body = [
        Set(total, number(0.0, "float32")),
        over(Set(total, apply("accumulate_add", total, value))),
        Store(y, size(0), total),
    ]
    _, source = named(kernel(body, [x], [y]), machine=MACHINES["elements"])
    lines = source.splitlines()
    loads = [place for place, line in enumerate(lines) if "= load <8 x float>" in line]
    sums = [place for place, line in enumerate(lines) if "= fadd <8 x float>" in line]
    assert len(loads) == 4
    assert (loads[-1] < sums[0]) is side_by_side


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_lines_are_prefetched_in_a_loop_that_stays_rolled(machine):
    x, y = operand(0, "float32"), result(0, "float32")
    doubled = Store(y, I, load(x, I) + load(x, I))
    body = [Prefetch(x, START, COUNT), over(doubled)]
    code = machine_code(*named(kernel(body, [x], [y], sizes=[COUNT]), machine=machine))
    assert code.count("call void @llvm.prefetch") == 1


def test_no_instruction_may_be_reordered():
    expressions = [
        ("float32", lambda a, b: fma(a, b, a) + a * b - a / b + maximum(a, sqrt(b))),
        ("float32", lambda a, b: apply("accumulate_add", a, b)),
        ("float32", lambda a, b: apply("accumulate_multiply", a, b)),
    ]
    _, source = text(expressions, ["float32", "float32"], machine=MACHINES["elements"])
    flags = ("fast", "reassoc", "contract", "nnan", "ninf", "nsz", "arcp", "afn")
    assert not [one for one in flags if re.search(rf"\b{one}\b", source)]


def test_long_loops_compute_several_vectors_in_turns(monkeypatch):
    one = elementwise([("float64", lambda a, b: a / b)], ["float64", "float64"], long=True)
    found = {}
    for vectors in (1, 4):
        monkeypatch.setattr(statements, "INTERLEAVED", vectors)
        module = machine_code(*named(one, machine=MACHINES["elements"]))
        loop = module[module.index("vector.body:") :]
        found[vectors] = loop[: loop.index("\n\n")].count("fdiv <")
    assert found == {1: 1, 4: 4}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponentials_in_long_loops_end_with_one_instruction_of_masks(dtype):
    """Two whole registers of a block, and half of one for what is left."""

    def instructions(op, machine, *, long=True):
        _, source = named(elementwise([(dtype, op)], [dtype], long=long), machine=MACHINES[machine])
        calls = [line for line in source.splitlines() if "= call" in line and ".scalef." in line]
        return [call.split("@")[1].split("(")[0][-3:] for call in calls]

    assert instructions(exp, "vectors") == instructions(exp2, "vectors") == ["512", "512", "256"]
    assert instructions(exp, "elements") == instructions(exp, "vectors", long=False) == []
    # a product of other numbers, or one made smaller by another power
    assert instructions(lambda x: where(x < 0, x * 2.0**-46, x), "vectors") == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponentials_have_the_same_bits_in_short_loops(dtype):
    """Results from nothing over subnormal numbers to infinity, and of what is no number."""
    lowest, highest = {"float32": (-110.0, 90.0), "float64": (-760.0, 711.0)}[dtype]
    many = np.concatenate(
        [
            np.linspace(lowest, 0.8 * lowest, 3001),
            np.linspace(lowest, highest, 3000),
            [np.nan, np.inf, -np.inf, -0.0, 0.0],
        ]
    ).astype(dtype)
    for function, given in ((tfr.exp, many), (tfr.exp2, many / many.dtype.type(np.log(2)))):
        at_once = function(tfr.asarray(given, device="llvm")).numpy()
        pieces = [
            function(tfr.asarray(piece, device="llvm")).numpy()
            for piece in np.array_split(given, 20)
        ]
        assert np.count_nonzero((at_once > 0) & (at_once < np.finfo(dtype).tiny)) > 500
        same(np.concatenate(pieces), at_once)


def test_heavy_loops_over_many_elements_are_long():
    many, few = (tfr.asarray(np.ones((300, n)), device="llvm").T for n in (1000, 10))
    heavy, light = tfr.exp(many + 1.0), many + 1.0
    assert "interleave()" in str(heavy.explain(source=True))
    assert "interleave()" not in str(light.explain(source=True))
    rows = tfr.exp(few[:5] + 1.0)
    assert "interleave()" not in str(rows.explain(source=True))


def test_streams_of_any_place_and_length():
    x, y = operand(0, "float32"), result(0, "float32")
    scratch, j = Buffer("w0", F4, Role.SCRATCH), index("j")
    body = [
        Allocate(scratch, COUNT),
        Loop(j, size(0), COUNT, (Store(scratch, j, load(x, j)),)),
        StreamingStore(y, START, scratch, COUNT),
    ]
    function = kernel_function(*named(kernel(body, [x], [y], sizes=[COUNT])))
    given = np.arange(1, 200, dtype=np.float32)
    for start in range(40):
        for count in (0, 1, 3, 15, 16, 17, 31, 32, 33, 100):
            found = np.zeros(200, np.float32)
            function.call(start, start, slots(given, found), np.uint64(count).tobytes())
            expected = np.zeros(200, np.float32)
            expected[start : start + count] = given[:count]
            assert np.array_equal(found, expected)


def copied_by_a_stream(dtype="float32", **fields):
    """A kernel that copies from x to y through a stream from START on."""
    x, y = operand(0, "float32"), result(0, dtype)
    scratch, j = Buffer("w0", np.dtype(dtype), Role.SCRATCH), index("j")
    copied = load(x, j) if dtype == "float32" else load(x, j) < 0.5
    body = [
        Allocate(scratch, COUNT),
        Loop(j, size(0), COUNT, (Store(scratch, j, copied),)),
        StreamingStore(y, START, scratch, COUNT, **fields),
    ]
    return kernel(body, [x], [y], sizes=[COUNT])


@pytest.mark.parametrize("begins_line", [True, False])
def test_streams_on_lines_are_written_by_the_loop_that_makes_them(begins_line):
    """To memory that begins with a line, or does not: then they go through scratch memory."""
    function = kernel_function(*named(copied_by_a_stream(on_line=True)))
    given = np.arange(1, 300, dtype=np.float32)
    memory = np.zeros(300, np.float32)
    first = -(memory.ctypes.data // 4) % 16 + (not begins_line)
    for start in (0, 16, 48):
        for count in (0, 1, 15, 16, 17, 31, 32, 33, 100, 128):
            memory[:] = 0
            found = memory[first : first + 200]
            assert (found.ctypes.data % 64 == 0) == begins_line
            function.call(start, start, slots(given, found), np.uint64(count).tobytes())
            assert np.array_equal(found[start : start + count], given[:count])
            assert np.count_nonzero(memory) == count


def test_only_loops_on_vectors_write_whole_registers_past_the_caches():
    whole = copied_by_a_stream(on_line=True)
    found = {
        name: {
            line.split(" %")[0].strip() for line in source.splitlines() if "!nontemporal" in line
        }
        for name, (_, source) in {
            "on lines": named(whole, machine=MACHINES["vectors"]),
            "anywhere": named(copied_by_a_stream(), machine=MACHINES["vectors"]),
            "answers": named(copied_by_a_stream("bool", on_line=True), machine=MACHINES["vectors"]),
            "elements": named(whole, machine=MACHINES["elements"]),
        }.items()
    }
    afterwards = {"store <16 x i32>"}
    assert found == {
        "on lines": {"store <8 x float>"},
        "anywhere": afterwards,
        "answers": afterwards,
        "elements": afterwards,
    }


@pytest.mark.parametrize(
    ("triple", "has", "lacks"),
    [
        ("x86_64-unknown-linux-gnu", ["@aligned_alloc", "@free", "sfence"], ["_malloc"]),
        ("x86_64-pc-windows-msvc", ["@_aligned_malloc", "@_aligned_free", "sfence"], ["@free"]),
        ("aarch64-apple-darwin", ["@aligned_alloc", "@free"], ["sfence", "x86"]),
    ],
)
def test_what_belongs_to_other_machines(triple, has, lacks):
    """Their text is as good as this machine's can tell: LLVM reads and verifies it."""
    import llvmlite.binding as llvm

    scratch = Buffer("w0", F4, Role.SCRATCH)
    y = result(0, "float32")
    one = kernel(
        [Allocate(scratch, COUNT), StreamingStore(y, START, scratch, COUNT)], [], [y], (), [COUNT]
    )
    _, source = named(one, machine=replace(target(), triple=triple, features=frozenset()))
    llvm.parse_assembly(source).verify()
    assert [name for name in has if name not in source] == []
    assert [name for name in lacks if name in source] == []


@pytest.mark.parametrize("op", [SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL])
def test_rows_of_sparse_products_are_one_loop(op):
    """Of two short ones, over four elements and over the rest: four rows side by side took up to 1.4 times as long."""
    rows, count = 1000, 10_000
    shapes = ((count,), (count,), (rows + 1,), (rows,))
    dtypes = [np.dtype(name) for name in ("f8", "i4", "i4", "f8")]
    attrs = (True,) if op is SPARSE_MATMUL else (rows, False, True)
    made = RegionOp(op, attrs, (0, 1, 2, 3), op.shape(shapes, *attrs), dtypes[0])
    region = Region(tuple(zip(shapes, dtypes, strict=True)), (made,), (4,))
    built = build_sparse(region, [(1,)] * 4)
    code = str(optimised(print_kernel(built.launches[0].kernel, target()).source))
    assert code.count("fmul double") == code.count("fadd double") == 4 + 1
    assert code.count("call void @llvm.prefetch") == 2
