"""Kernels of every form: interpreted, compiled and in NumPy they give the same, on any number of threads."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.python import print_kernel
from tensorframe.kernel.ir import Allocate, Argument, If, Let, Loop, Set
from tensorframe.kernel.ir.walk import expressions, in_order
from tensorframe.testing.compare import assert_close
from tests.kernel.blocks import small_blocks
from tests.kernel.form_cases import CASES, OWN, by_numpy, operand, tensors
from tests.kernel.interpreted import interpreted, kernels_of

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm import workers


@pytest.fixture(autouse=True)
def blocks():
    with small_blocks(), tfr.config.override(small_size=0, small_nodes=0):
        yield


def statements(body):
    for statement in body:
        yield statement
        if isinstance(statement, Loop | If):
            yield from statements(statement.body)


def names_of(kernel):
    """The names in a kernel by what they are names of."""
    found = list(statements(kernel.body))
    roots, _ = expressions(kernel.body)
    return {
        "buffers": {source.name for source in (*kernel.inputs, *kernel.outputs)}
        | {one.buffer.name for one in found if isinstance(one, Allocate)},
        "loops": {one.index.name for one in found if isinstance(one, Loop)},
        "numbers": {expr.name for expr in in_order(roots, {}) if isinstance(expr, Argument)},
        "values": {one.variable.name for one in found if isinstance(one, Let | Set)},
    }


@pytest.mark.parametrize("name", CASES)
def test_a_program_has_the_form_that_it_is_about(name):
    one = CASES[name]
    kernels = kernels_of(*tensors(one, operand(one)))
    found = {name for kernel in kernels for names in names_of(kernel).values() for name in names}
    # numbers and buffers are counted: a mark without a number stands for any
    found |= {name.rstrip("0123456789") for name in found}
    assert one.marks <= found
    assert one.marks & OWN == found & OWN


@pytest.mark.parametrize("name", CASES)
def test_a_name_is_the_name_of_one_thing(name):
    one = CASES[name]
    for kernel in kernels_of(*tensors(one, operand(one))):
        names = names_of(kernel)
        memory = [
            statement.buffer.name for statement in kernel.body if isinstance(statement, Allocate)
        ]
        assert len(memory) == len(set(memory))
        assert len(set().union(*names.values())) == sum(map(len, names.values())), names


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CASES)
def test_interpreted_compiled_and_numpy_agree(name):
    one = CASES[name]
    x = operand(one)
    expected = by_numpy(one, x)
    definition = interpreted(*tensors(one, x))
    compiled = tensors(one, x)
    tfr.compute(*compiled)
    for meant, got, wanted in zip(definition, compiled, expected, strict=True):
        # sums of numbers that are not exact depend on their order
        assert_close(got, np.asarray(meant), ulp=1 if one.ulp else 0)
        assert_close(got, wanted, ulp=one.ulp)


@pytest.mark.parametrize("name", CASES)
def test_the_bits_do_not_depend_on_the_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(workers, "core_count", lambda: 16)
    one = CASES[name]
    generator = np.random.default_rng(2)
    x = operand(one) + (generator.random(one.shape) if one.dtype[0] in "fc" else 0)
    bits = []
    for threads in (1, 2, 16):
        found = tensors(one, x.astype(one.dtype))
        with tfr.config.override(threads=threads):
            tfr.compute(*found)
        bits.append([result.numpy().tobytes() for result in found])
    assert bits[0] == bits[1] == bits[2]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CASES)
def test_other_lengths_have_the_same_text(name):
    one = CASES[name]
    shape = {(2, 40): (2, 50), (40, 2): (50, 2)}.get(one.shape, one.longer)
    here, there = [
        [print_kernel(kernel) for kernel in kernels_of(*tensors(one, x))]
        for x in (operand(one), operand(one, shape))
    ]
    assert here == there
