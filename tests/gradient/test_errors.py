"""Errors of gradients: each names what is wrong, the line, and what to do."""

import threading

import numpy as np
import pytest

import tensorframe as tfr
from tests.gradient.differences import wide


class TestErrors:
    """Each names what is wrong, the line, and what to do."""

    def test_of_several_numbers(self):
        with pytest.raises(tfr.errors.GradientError, match=r"of shape \(2,\)") as caught:
            tfr.grad(lambda x: x * 2)(wide([1.0, 2.0]))
        assert "x * 2" in caught.value.location
        assert "loss.sum()" in str(caught.value)

    def test_of_a_complex_number(self):
        with pytest.raises(tfr.errors.GradientError, match="complex128"):
            tfr.grad(lambda x: tfr.sum(x * 1j))(wide([1.0]))

    def test_of_a_pair(self):
        with pytest.raises(tfr.errors.GradientError, match="has_aux=True"):
            tfr.grad(lambda x: (x, x))(1.0)

    def test_of_no_pair_with_aux(self):
        with pytest.raises(tfr.errors.GradientError, match="gives a pair"):
            tfr.grad(lambda x: x, has_aux=True)(1.0)

    def test_for_an_integer(self):
        with pytest.raises(tfr.errors.GradientError, match=r"tree\['n'\] is int64"):
            tfr.grad(lambda tree: tree["x"])({"x": 1.0, "n": 3})

    def test_for_no_argument(self):
        with pytest.raises(tfr.errors.ArgumentError, match="no positional argument 1"):
            tfr.grad(lambda x: x, argnums=1)(1.0)

    def test_for_an_argument_twice(self):
        with pytest.raises(tfr.errors.ArgumentError, match="name an argument twice"):
            tfr.grad(lambda x, y: x * y, argnums=(1, -1))(1.0, 2.0)

    @pytest.mark.parametrize(
        "function",
        [
            tfr.unique_values,
            lambda x: tfr.unique(x, axis=0),
            lambda x: tfr.union1d(x, wide([1.0])),
            lambda x: tfr.intersect1d(wide([1.0]), x),
            lambda x: tfr.setdiff1d(x, wide([1.0])),
        ],
        ids=["unique_values", "unique", "union1d", "intersect1d", "setdiff1d"],
    )
    def test_of_what_is_computed_outside_of_the_graph(self, function):
        """Not a gradient of zero, which it would be if what is given were taken for constants."""
        with pytest.raises(tfr.errors.GradientError, match="distinct: has no gradient") as caught:
            tfr.grad(lambda x: tfr.sum(function(x)))(wide([1.0, 2.0]))
        assert "test_errors.py" in caught.value.location
        counts = tfr.grad(lambda x: tfr.sum(x) * tfr.unique_counts(x).counts.shape[0])
        assert counts(wide([1.0, 1.0])).tolist() == [1.0, 1.0]

    def test_of_a_tree_that_changed(self):
        _, pullback = tfr.vjp(lambda x: {"a": x, "b": x}, 1.0)
        with pytest.raises(tfr.errors.GradientError, match="not a tree like the result"):
            pullback({"a": 1.0})
        with pytest.raises(tfr.errors.GradientError, match="not trees like the arguments"):
            tfr.jvp(lambda x: x["a"], [{"a": 1.0}], [1.0])

    def test_of_other_shapes(self):
        _, pullback = tfr.vjp(lambda x: x, wide([1.0, 2.0]))
        with pytest.raises(tfr.errors.GradientError, match=r"shape \(3,\)"):
            pullback(tfr.ones(3))
        with pytest.raises(tfr.errors.GradientError, match=r"tangent of shape \(3,\)"):
            tfr.jvp(lambda x: x, [wide([1.0, 2.0])], [tfr.ones(3)])

    def test_of_a_compiled_function_without_a_formula(self):
        @tfr.elementwise
        def steps(x):
            count = 0.0
            while x > 1:
                x = x / 2
                count += 1.0
            return count

        with pytest.raises(tfr.errors.GradientError, match="has no gradient") as caught:
            tfr.grad(lambda x: tfr.sum(steps(x)))(wide([1.0, 8.0]))
        assert "tfr.sum(steps(x))" in caught.value.location
        assert "custom_gradient" in str(caught.value)

    def test_of_what_another_thread_has_computed(self):
        """It has dropped its inputs: not a constant, whose gradient would be zero."""

        def function(x):
            y = tfr.sin(x)
            thread = threading.Thread(target=y.compute)
            thread.start()
            thread.join()
            return tfr.sum(y)

        with pytest.raises(tfr.errors.GradientError, match="by another thread") as caught:
            tfr.grad(function)(wide([1.0, 2.0]))
        assert "y = tfr.sin(x)" in caught.value.location

    def test_of_no_function(self):
        with pytest.raises(tfr.errors.DTypeError, match="takes a function"):
            tfr.grad(3.0)


def test_a_gradient_is_checked():
    tfr.check_gradient(
        lambda p, n: tfr.sum(tfr.sin(p["a"]) * p["b"]) * n,
        {"a": wide([0.5, 1.0]), "b": np.array([1 + 2j, 3.0]).real},
        tfr.asarray(2),
    )
    with pytest.raises(tfr.errors.GradientError, match=r"the gradient for x\[1\] on cpu is 2, and"):
        tfr.check_gradient(lambda x: x[0] + tfr.stop_gradient(x[1]) * x[1], wide([1.0, 2.0]))
