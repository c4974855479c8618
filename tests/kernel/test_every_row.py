"""Every elementwise row, on every real dtype that it takes, is computed by kernels as the NumPy engine computes it."""

import ml_dtypes
import numpy as np
import pytest

from tensorframe import dtypes
from tensorframe.backends.numpy import engine  # noqa: F401 - the spellings
from tensorframe.backends.numpy.functions import implementation
from tensorframe.codegen import python
from tensorframe.codegen.llvm.arithmetic import OPS
from tensorframe.graph.op import Kind, rows
from tensorframe.kernel.ir import Apply, argument
from tensorframe.kernel.ir.interpret import FUNCTIONS, evaluate
from tensorframe.kernel.ir.machine_ops import MACHINE_OPS, PAIR_OPS
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.scalars import element, supports
from tensorframe.ops.elementwise import CAST
from tensorframe.ops.random import RANDOM_WORD
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tensorframe.testing.compare import assert_close

REAL = sorted(dtypes.BOOL | dtypes.REAL, key=str)
CORE = [op for op in rows(Kind.MAP) if op.expand is None]
CASES = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}")
    for op in CORE
    for dtype in REAL
    if dtype in op.accepts
    if op.name
    not in INCOMPLETE  # thousands of operations, which compilers take seconds for: NumPy runs them
]


ATTRIBUTES = {
    CAST: [(dtype,) for dtype in REAL],
    RANDOM_WORD: [(1, 1, 0), (1, 2, 1), (1, 4, 3), (2, 2, 0), (2, 4, 2)],
}


def attributes(op):
    return ATTRIBUTES[op] if op.attributes else [()]


def signature(op, dtype, attrs):
    """The dtypes of the operands and of the result."""
    operands = [dtypes.bool_] * op.conditions + [dtype] * (op.arity - op.conditions)
    return operands, op.result(dtype, *attrs)


def is_spelled(one):
    """Whether a machine op may have these operands."""
    if not isinstance(one, Apply) or one.op == "cast":
        return True
    operands = {x.dtype for x in one.arguments[one.op.startswith("where") :]}
    return operands <= MACHINE_OPS[one.op]


@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_it_is_made_of_machine_ops(op, dtype):
    for attrs in attributes(op):
        operands, result = signature(op, dtype, attrs)
        assert supports(op, operands, result)
        scalars = [argument(f"x{k}", operand) for k, operand in enumerate(operands)]
        root = element(op, attrs, scalars, result)
        assert root.dtype == result
        wrong = [expr for expr in in_order([root], {}) if not is_spelled(expr)]
        assert not wrong, [(one.op, [x.dtype for x in one.arguments]) for one in wrong]


def test_the_interpreter_knows_the_machine_ops():
    conversions = {"cast", "bitcast", "to_index", "from_index"}
    assert set(FUNCTIONS) | conversions == set(MACHINE_OPS) | PAIR_OPS


def test_the_python_dialect_spells_the_machine_ops():
    # rare choices are made plain ones before a kernel is printed
    spelled = {*python._CALLS, *python._INFIX, *python._SPECIAL, "where_rare"}
    assert spelled == set(MACHINE_OPS)


def test_what_is_compiled_spells_the_machine_ops():
    conversions = {"cast", "bitcast", "to_index", "from_index"}
    assert {*OPS, *conversions, "where_rare"} == set(MACHINE_OPS)


# units in the last place that kernels may be from the NumPy engine, which may be that far off itself
EXACT = 0
ULP = {
    "pow": 4,
    "hypot": 2,
    "divide": EXACT,
    "sqrt": EXACT,
    "reciprocal": EXACT,
    "nextafter": EXACT,
    "remainder": EXACT,
    "fmod": EXACT,
    # NumPy's is off by that much where the quotient has too many digits
    "floor_divide": 2,
}
ELEMENTARY = 5  # others that cost more than an operation
# steps of one by which results near zero, which are differences, may be off
BESIDE_ONE = {"logaddexp": 1}
# The sign of a zero that these give depends on the order of operands in NumPy, or on the dtype.
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin", "sign", "nextafter"}


def values(dtype, count=300):
    """Zeros, ones, ends of the range, infinities and NaN, both signs; and numbers of all sizes."""
    rng = np.random.default_rng(7)
    if dtype == dtypes.bool_:
        return np.array([False, True])
    if dtype in dtypes.INTEGER:
        ends = np.iinfo(dtype)
        bits = np.array([ends.min, ends.min + 1, ends.max, 0, 1, 2, 3, 7, 65])
        random = rng.integers(ends.min, ends.max, count, dtype, endpoint=True)
        small = random >> rng.integers(0, 8 * dtype.itemsize, count).astype(dtype)
        return np.concatenate([bits.astype(dtype), (-bits).astype(dtype), random, small])
    fields = np.array([0, 1, 0.5, 2, 3, 27, 0.1, 1e3, np.pi, np.inf, np.nan]).astype(dtype)
    ends = ml_dtypes.finfo(dtype)
    fields = np.concatenate([fields, [ends.tiny, ends.smallest_subnormal, ends.max]]).astype(dtype)
    random = rng.integers(0, 2 ** (8 * dtype.itemsize - 1), count, f"u{dtype.itemsize}").view(dtype)
    near = rng.normal(scale=3, size=count).astype(dtype)
    found = np.concatenate([fields, random, near])
    return np.where(np.isnan(found), dtype.type(np.nan), np.concatenate([fields, random, near]))


def operands_of(op, dtype):
    """Columns of operands: every special value with every other, and random ones."""
    ordinary = values(dtype)
    if op.arity == 1:
        return [np.concatenate([ordinary, -ordinary]) if dtype in dtypes.FLOAT else ordinary]
    few = ordinary[:24]
    if dtype in dtypes.FLOAT:
        few, ordinary = np.concatenate([few, -few]), np.concatenate([ordinary, -ordinary])
    rng = np.random.default_rng(8)
    if op.arity > 3:
        return [rng.permutation(ordinary) for _ in range(op.arity)]
    pairs = [one.ravel() for one in np.meshgrid(few, few)]
    columns = [np.concatenate([one, rng.permutation(ordinary)]) for one in pairs]
    if not op.conditions:
        return columns
    return [rng.integers(0, 2, len(columns[0])).astype(bool), *columns]


def allowed(op, result):
    if result not in dtypes.FLOAT:
        return EXACT
    return ULP.get(op.name, ELEMENTARY if op.cost >= 10 else EXACT)


def beside_one(op, result):
    """Return how far results near zero may be off."""
    steps = BESIDE_ONE.get(op.name, 0)
    return steps * float(ml_dtypes.finfo(result).eps) if steps else 0.0


@pytest.mark.sweep(2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_kernels_compute_what_numpy_computes(op, dtype):
    columns = operands_of(op, dtype)
    for attrs in attributes(op):
        _, result = signature(op, dtype, attrs)
        inputs = within(columns, dtype, result)
        scalars = [argument(f"x{k}", source.dtype) for k, source in enumerate(inputs)]
        root = element(op, attrs, scalars, result)
        expected = np.asarray(implementation[op](*inputs, *attrs))
        found = np.broadcast_to(
            evaluate(root, dict(zip(scalars, inputs, strict=True))), expected.shape
        )
        near = beside_one(op, result)
        name = f"{op.name} {dtype} {attrs}"
        assert_close(found, expected, ulp=allowed(op, result), atol=near, name=name)
        if result in dtypes.FLOAT and op.name not in EITHER_ZERO:
            zero = (expected == 0) & (found == 0)
            assert np.array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def within(columns, dtype, target):
    """Leave out what a cast to an integer dtype has no number for."""
    if target not in dtypes.INTEGER or dtype not in dtypes.FLOAT:
        return columns
    ends = np.iinfo(target)
    with np.errstate(invalid="ignore"):
        x = columns[0].astype(np.float64)
        kept = (x > float(ends.min)) & (x < float(ends.max))
    return [column[kept] for column in columns]
