"""`elementwise`: a function of scalars is its formula, recorded once, fused, on every device."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError
from tests.frontend.elementwise_cases import (
    DEVICES,
    FORMULAS,
    as_tuple,
    composed,
    damped,
    operands,
)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FORMULAS)
def test_is_its_formula_on_every_device(name, device):
    function, written, dtype = FORMULAS[name]
    tensors = [tfr.asarray(operand, device=device) for operand in operands(function, dtype)]
    got, wanted = as_tuple(function(*tensors)), as_tuple(written(*tensors))
    plans = [tfr.explain(*got), tfr.explain(*wanted)]
    assert plans[0].kernels == plans[1].kernels == 1
    assert plans[0].fallbacks == 0
    assert plans[0].transfers == plans[1].transfers
    assert plans[0].flops == plans[1].flops
    assert plans[0].bytes_written == plans[1].bytes_written
    ops = [[op.op for op in plan.steps[0].region.ops] for plan in plans]
    assert sorted(map(str, ops[0])) == sorted(map(str, ops[1]))
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        # on the cpu, one may run in NumPy and the other in a kernel
        exactly = 2e-6 if device == "cpu" else 0
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=exactly, atol=exactly)


def test_fuses_with_its_neighbours_and_plans_know_its_name():
    x = tfr.asarray(np.linspace(0, 1, 10_000, dtype=np.float32))
    plan = tfr.sum(damped(x * 2) + composed(x, 1.0)).explain()
    assert plan.kernels == 1
    (step,) = plan.steps
    assert step.name.split() == ["multiply", "damped", "composed", "add", "sum"]
    assert "multiply damped composed add sum(" in str(plan)
    assert "damped(" in repr(damped(x).node)


def test_several_results_share_what_they_have_in_common():
    @tfr.elementwise
    def both(x):
        common = math.exp(math.sin(x))
        return common + 1, common * x

    x = tfr.asarray(np.linspace(0, 1, 10_000, dtype=np.float32))
    first, second = both(x)
    plan = tfr.explain(first, second)
    names = [op.op.name for step in plan.steps for op in step.region.ops]
    assert plan.kernels == 1
    assert names.count("exp") == names.count("sin") == 1
    np.testing.assert_array_equal(first.numpy() - 1, tfr.exp(tfr.sin(x)).numpy() + 1 - 1)


def test_it_is_recorded_once_for_its_dtypes_and_again_when_a_constant_changes():
    calls = []

    class Scale:
        factor = 2.0

    scale, offset = Scale(), 1.0

    def counting(x):
        return x + offset

    def with_attribute(x):
        return x * scale.factor

    counted, attribute = tfr.elementwise(counting), tfr.elementwise(with_attribute)
    x = tfr.asarray([1.0, 2.0])
    first, again = counted(x).node.op, counted(x).node.op
    assert first is again
    assert counted(tfr.asarray([1])).node.op is not first
    offset = 5.0
    assert counted(x).tolist() == [6.0, 7.0]
    assert attribute(x).node.op is attribute(x).node.op
    scale.factor = 3.0
    assert attribute(x).tolist() == [3.0, 6.0]
    assert not calls


def test_operands_keep_their_dtypes_and_numbers_are_weak():
    @tfr.elementwise
    def chosen(mask, x, n):
        return np.where(mask, x, n * 2)

    mask, x = tfr.asarray([True, False]), tfr.asarray([0.5, 1.5], dtype="float64")
    result = chosen(mask, x, tfr.asarray([[1], [2]], dtype="int8"))
    assert (result.dtype, result.shape) == (np.float64, (2, 2))
    assert result.tolist() == [[0.5, 2.0], [0.5, 4.0]]
    half = tfr.asarray([0.1], dtype="float16")
    assert damped(half, 0.3).dtype == np.float16
    assert damped(half, np.ones(1)).dtype == np.float64
    assert damped(tfr.asarray([1, 2])).dtype == np.float32
    assert damped([1.0, 2.0], rate=1).shape == (2,)
    assert damped(1.0).shape == ()


@pytest.mark.parametrize("size", [1, 50, 30_000])
def test_results_that_depend_on_no_operand_or_on_some_broadcast(size):
    @tfr.elementwise
    def parts(x, y):
        return 1, x, 2.5, y + 1

    x, y = tfr.asarray(np.arange(size, dtype=np.float32)), tfr.asarray([[1], [2]])
    one, same, number, more = parts(x, y)
    assert [t.dtype for t in (one, same, number, more)] == ["int64", "float32", "float32", "int64"]
    tfr.compute(one, same, number, more)
    assert {t.shape for t in (one, same, number, more)} == {(2, size)}
    np.testing.assert_array_equal(one.numpy(), np.ones((2, size)))
    np.testing.assert_array_equal(same.numpy(), np.broadcast_to(x.numpy(), (2, size)))
    np.testing.assert_array_equal(more.numpy(), np.broadcast_to([[2], [3]], (2, size)))
    assert tfr.sum(number).item() == 2.5 * 2 * size
    assert parts(1.0, 2)[0].item() == 1


def test_parameters_that_are_left_out_are_constants():
    @tfr.elementwise
    def power(x, n=3, shift=None):
        result = 1
        for _ in range(n):
            result = result * x
        return result if shift is None else result + shift

    x = tfr.asarray([2.0, 3.0])
    assert power(x).tolist() == [8.0, 27.0]
    assert power(x, shift=1).tolist() == [9.0, 28.0]
    with pytest.raises(TypeError, match="at least one operand"):
        tfr.elementwise(lambda x=1: x)()


def test_static_parameters_are_constants():
    @tfr.elementwise(static_argnames=("n", "negate"))
    def power(x, n, negate=False):
        result = x
        for _ in range(n - 1):
            result = result * x
        return -result if negate else result

    x = tfr.asarray([2.0, 3.0])
    assert power(x, 2).tolist() == power(x, n=2).tolist() == [4.0, 9.0]
    assert power(x, 3, negate=True).tolist() == [-8.0, -27.0]
    assert power(x, 2).node.op is power(x, 2).node.op
    with pytest.raises(TypeError, match="at least one operand"):
        tfr.elementwise(static_argnames="n")(lambda n: n)(3)
    with pytest.raises(ArgumentError, match="no parameter 'm'"):
        tfr.elementwise(static_argnames="m")(power.__wrapped__)


def test_numbers_do_not_change_under_other_names():
    @tfr.elementwise
    def alias(x):
        y = x
        y += 1
        z = math.fabs(y)
        w = z
        w *= 10
        return x + y + z + w

    x = np.array([-3.0, 0.5])
    np.testing.assert_allclose(alias(x).numpy(), x + (x + 1) + 11 * np.abs(x + 1))
