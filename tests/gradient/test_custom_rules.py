"""Gradients by rules of the user's: `custom_gradient`."""

import math

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.plan_cache import PLANS
from tests.gradient.differences import wide


class TestCustomRules:
    """`custom_gradient`."""

    @staticmethod
    def scaled():
        @tfr.custom_gradient
        def scaled(x, factors):
            return {"product": x * factors["f"], "sum": x + factors["f"]}

        @scaled.vjp
        def _(args, out, ct):
            x, factors = args
            assert out["product"].shape == ct["product"].shape
            return ct["product"] * factors["f"] * 10 + ct["sum"], {"f": ct["product"] * x}

        return scaled

    def test_the_rule_is_asked(self):
        scaled = self.scaled()

        def function(x, f):
            found = scaled(x, {"f": f})
            return tfr.sum(found["product"] * found["product"]) + tfr.sum(found["sum"])

        x, f = wide([1.0, 2.0]), wide([3.0, 4.0])
        for turned in (tfr.grad(function, (0, 1)), tfr.jit(tfr.grad(function, (0, 1)))):
            for_x, for_f = turned(x, f)
            np.testing.assert_allclose(for_x.numpy(), 2 * np.array([3, 8.0]) * [30, 40] + 1)
            np.testing.assert_allclose(for_f.numpy(), 2 * np.array([3, 8.0]) * [1, 2])

    def test_a_result_that_is_not_used_has_a_cotangent_of_zeros(self):
        scaled = self.scaled()
        found = tfr.grad(lambda x: tfr.sum(scaled(x, {"f": tfr.ones(2)})["sum"]))(wide([1.0, 2.0]))
        assert found.tolist() == [1.0, 1.0]

    def test_second_derivatives_go_through_the_rule(self):
        @tfr.custom_gradient
        def cube(x):
            return x**3

        @cube.vjp
        def _(args, out, ct):
            return 3 * ct * args[0] ** 2

        assert tfr.grad(tfr.grad(cube))(2.0).item() == 12.0

    def test_calls_share_a_plan(self):
        scaled = self.scaled()
        x = tfr.ones(100_000)
        PLANS.clear()
        for _ in range(3):
            tfr.grad(lambda x: tfr.sum(scaled(x, {"f": x + 1})["product"] ** 2))(x).compute()
        assert len(PLANS) == 1

    @pytest.mark.parametrize(
        ("gives", "message"),
        [
            (lambda ct: (ct, ct), "gives 2 cotangents for 1 arguments"),
            (lambda ct: ct[None], r"shape \(1, 2\) for an argument of shape \(2,\)"),
            (lambda ct: [ct, ct], "is no tree like it"),
        ],
    )
    def test_a_rule_that_does_not_fit_is_told(self, gives, message):
        @tfr.custom_gradient
        def same(x):
            return x

        same.vjp(lambda _args, _out, ct: gives(ct))
        with pytest.raises(tfr.errors.GradientError, match=message):
            tfr.grad(lambda x: tfr.sum(same(x)))(wide([1.0, 2.0]))

    def test_a_function_without_its_rule_is_told(self):
        same = tfr.custom_gradient(lambda x: x)
        assert same(3.0).item() == 3.0
        with pytest.raises(tfr.errors.GradientError, match="has no rule"):
            tfr.grad(same)(3.0)

    def test_what_is_closed_over_is_not_forgotten(self):
        def function(x):
            inner = tfr.custom_gradient(lambda y: y * x)
            inner.vjp(lambda _args, _out, ct: ct)
            return inner(tfr.stop_gradient(x))

        with pytest.raises(tfr.errors.GradientError, match="uses a tensor that is no argument"):
            tfr.grad(function)(3.0)


def test_further_derivatives_go_through_the_result_that_a_rule_uses():
    @tfr.custom_gradient
    def exponential(x):
        return tfr.exp(x)

    @exponential.vjp
    def exponential_vjp(args, out, ct):
        return ct * out

    slope = exponential
    for _ in range(3):
        slope = tfr.grad(slope)
        assert slope(0.5).item() == pytest.approx(math.exp(0.5), rel=1e-6)

    @tfr.custom_gradient
    def both(x, y):
        return x * y, tfr.exp(x)

    @both.vjp
    def both_vjp(args, out, ct):
        (x, y), (product, power) = args, out
        return ct[0] * product / x + ct[1] * power, ct[0] * product / y

    def loss(x, y):
        product, power = both(x, y)
        return product**2 + power

    def plain(x, y):
        return (x * y) ** 2 + tfr.exp(x)

    for first in (0, 1):
        for second in (0, 1):
            got, wanted = (
                tfr.grad(tfr.grad(function, argnums=first), argnums=second)(0.5, 2.0).item()
                for function in (loss, plain)
            )
            assert got == pytest.approx(wanted, rel=1e-5)
