"""The option `validate`: rounding is let through, anything else is an error, for each kind of op."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import KernelError
from tensorframe.runtime.checks.validation import validate
from tensorframe.runtime.execution.leaves import leaf_handle
from tensorframe.schedule.capture import capture
from tensorframe.schedule.pipeline import make_plan

pytest.importorskip("llvmlite", reason="regions of many kinds of ops are those of kernels")


def drawn(*shape, dtype="float32", low=0.5, high=2.0):
    """A tensor of random numbers on the device that compiles everything."""
    values = np.random.default_rng(3).uniform(low, high, shape).astype(dtype)
    return tfr.asarray(values, device="llvm")


def region_of(result):
    """The region of a plan of one step, its inputs and its result."""
    request = capture([result.node])
    plan = make_plan(request)
    (step,) = [one for one in plan.steps if not one.is_view]
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    slots += [plan.literals.get(slot) for slot in range(plan.leaves, len(plan.slots))]
    shape = step.region.shape_of(step.region.outputs[0])
    return step.region, [slots[at] for at in step.inputs], result.numpy().reshape(shape)


def accepts(region, inputs, *results):
    try:
        validate(region, inputs, results)
    except KernelError:
        return False
    return True


def moved(array, units, at=0):
    """A copy whose element `at` is so many representable numbers away."""
    found = array.copy()
    bits = found.reshape(-1).view(f"i{found.dtype.itemsize}")
    bits[at] += units
    return found


OPS = {
    "exp": tfr.exp,
    "sum of exp": lambda x: tfr.sum(tfr.exp(x), axis=1),
    "softmax": lambda x: tfr.exp(x) / tfr.sum(tfr.exp(x), axis=1, keepdims=True),
    "largest": lambda x: tfr.max(tfr.exp(x), axis=1),
    "product": lambda x: tfr.prod(tfr.exp(x), axis=1),
    "running sum": lambda x: tfr.cumulative_sum(tfr.exp(x), axis=1),
    "running product": lambda x: tfr.cumulative_prod(tfr.exp(x), axis=1),
    "turned": lambda x: tfr.exp(x)[::-1, ::-1].T * 2,
    "padded": lambda x: tfr.pad(tfr.exp(x), ((0, 1), (0, 1)), constant_values=3) * 2,
    "joined": lambda x: tfr.concat([tfr.exp(x), x], axis=1) * 2,
    "taken": lambda x: tfr.exp(tfr.take(x, tfr.asarray([2, 0], device="llvm"), axis=1)) * 2,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", OPS)
def test_rounding_is_let_through_and_nothing_else(name, dtype):
    region, inputs, result = region_of(OPS[name](drawn(4, 6, dtype=dtype)))
    assert accepts(region, inputs, result)
    assert accepts(region, inputs, moved(result, 1))
    for at in (0, result.size - 1):
        assert not accepts(region, inputs, moved(result, 3000 if dtype != "bfloat16" else 100, at))
    wrong = result.copy()
    wrong.reshape(-1)[1] = np.nan
    assert not accepts(region, inputs, wrong)


@pytest.mark.parametrize(
    "compute",
    [lambda x: x * 3 - x, lambda x: tfr.sqrt(x) / x, lambda x: tfr.where(x > 1, -x, abs(x))],
    ids=["multiply", "sqrt", "where"],
)
def test_machine_ops_are_exact(compute):
    region, inputs, result = region_of(compute(drawn(5)))
    assert accepts(region, inputs, result)
    # what is not exact begins after the first op that rounds
    off = moved(result, 20)
    assert not accepts(region, inputs, off)


def test_one_operation_on_exact_operands_is_exact():
    region, inputs, result = region_of(drawn(5) * drawn(5))
    assert not accepts(region, inputs, moved(result, 1))


def test_what_cancels_keeps_the_error_of_its_operands():
    x = drawn(5)
    region, inputs, result = region_of(tfr.exp(x) - tfr.exp(x + 1e-6))
    unit = np.float32(np.spacing(np.float32(4)))
    assert accepts(region, inputs, result + 2 * unit)
    assert not accepts(region, inputs, result + 200 * unit)


def test_integers_are_exact():
    x = tfr.asarray(np.arange(12).reshape(3, 4), device="llvm")
    region, inputs, result = region_of(tfr.sum(x * 3, axis=1))
    assert accepts(region, inputs, result)
    assert not accepts(region, inputs, result + 1)


def test_integers_made_of_rounded_numbers_may_be_off_where_these_lie_at_a_step():
    x = tfr.asarray(np.log(np.array([2.0, 2.5])), device="llvm")
    region, inputs, result = region_of(tfr.floor(tfr.exp(x)).astype("int64") + 1)
    assert accepts(region, inputs, result)
    assert accepts(region, inputs, np.array([5 - result[0], result[1]]))  # 1.99... or 2.00...
    assert not accepts(region, inputs, result + np.array([0, 1]))


def test_truth_values_of_exact_numbers_are_exact():
    region, inputs, result = region_of(drawn(5) * 2 > 1.5)
    assert not accepts(region, inputs, ~result)


def test_complex_numbers_are_compared_by_magnitude():
    x = tfr.asarray(np.array([1 + 1e-9j, 2 - 3j]), device="llvm")
    region, inputs, result = region_of(x * x * x)
    assert accepts(region, inputs, result * (1 + 4e-16j))
    assert not accepts(region, inputs, result * (1 + 4e-14j))


def test_what_hardly_overflows_may_be_the_largest_number():
    largest = float(np.finfo(np.float32).max)
    for size, close in ((largest, True), (0.999 * largest, False)):
        x = tfr.asarray(np.array([size, -size], np.float32), device="llvm")
        region, inputs, result = region_of(tfr.hypot(x, drawn(2)))
        assert accepts(region, inputs, np.full_like(result, np.inf)) is close


def test_a_wrong_kernel_is_found(monkeypatch):
    from tensorframe.backends.llvm import program

    launcher = program.launcher

    def off(*given):
        run = launcher(*given)
        return lambda inputs, buffers: [one + 1 for one in run(inputs, buffers)]

    monkeypatch.setattr(program, "launcher", off)
    with tfr.config.override(validate=True), pytest.raises(KernelError, match="run one by one"):
        (tfr.exp(drawn(7)) * 2).compute()
