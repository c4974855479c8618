"""The table of modules that spell ops: it says of each op which module does, so that no other is imported for it.

A formula that is spelt has the formula's bits.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from tensorframe.backends.numpy.functions import formula, implementation
from tensorframe.backends.numpy.spellings import MODULES, MODULES_OF_KINDS, is_spelt
from tensorframe.graph.op import Kind, rows
from tensorframe.ops.formulas import COUNT_NONZERO, INTERP

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0, 1e-40, 1e38]

SPELT = """
import json, pkgutil, sys
from importlib import import_module
import tensorframe.backends.numpy as package
from tensorframe.backends.numpy import functions

found, spells = {}, functions.spells

def noting(name, **options):
    found[name] = sys._getframe(1).f_globals["__name__"].removeprefix(f"{package.__name__}.")
    return spells(name, **options)

assert not functions.FUNCTIONS, "nothing is spelt before it is asked for"
functions.spells = noting
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    before = set(functions.MADE)
    import_module(module.name)
print(json.dumps([found, [kind.name for kind in functions.MADE]]))
"""

USED = """
import sys
import numpy, tensorframe as tfr
x = tfr.asarray(numpy.ones(5, numpy.float32), device="numpy")
{}
print(*[name.rpartition(".")[2] for name in sys.modules if "backends.numpy." in name])
"""


def output(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


def test_every_spelling_is_in_the_table():
    spelt, kinds = json.loads(output(SPELT))
    assert spelt == MODULES
    assert sorted(kinds) == sorted(kind.name for kind in MODULES_OF_KINDS)


def test_no_module_is_imported_for_ops_that_it_does_not_spell():
    added = set(output(USED.format("(x + x).numpy()")).split())
    assert added.isdisjoint({"fourier", "linalg", "random", "special", "sorting", "formulas"})
    assert "sorting" in output(USED.format("tfr.sort(x).numpy()"))


def _interpolations(draw, dtype):
    """Yield points, sorted as a rule, some of them special, and where to interpolate: on them, between and beside."""
    for _ in range(200):
        count = int(draw.integers(1, 6))
        xp, fp = (
            draw.choice([*SPECIAL, *draw.normal(size=9)], count).astype(dtype) for _ in range(2)
        )
        xp = np.sort(xp) if draw.random() < 0.8 else xp
        shape = [(), (3,), (2, 2), (0,)][draw.integers(4)]
        x = draw.choice([*xp, *SPECIAL, *draw.normal(size=5)], shape)
        yield np.asarray(x, dtype), xp, fp


def _counts(draw, dtype):
    """Yield arrays with many zeros, and axes to count along."""
    for axes in ((), (0,), (1,), (0, 1)):
        for keepdims in (False, True):
            x = draw.choice([*SPECIAL, 0.0, 0.0, 0.0], (4, 5)).astype(dtype)
            yield x, axes, keepdims


SPELT_FORMULAS = {INTERP: _interpolations, COUNT_NONZERO: _counts}


def test_every_formula_that_is_spelt_is_compared():
    assert {op for op in rows(Kind.FORMULA) if is_spelt(op) and not op.whole} == set(SPELT_FORMULAS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", SPELT_FORMULAS, ids=str)
def test_a_spelt_formula_has_the_bits_of_its_row(op, dtype):
    for values in SPELT_FORMULAS[op](np.random.default_rng(5), np.dtype(dtype)):
        with np.errstate(all="ignore"):
            spelt = np.asarray(implementation[op](*values))
            meant = np.asarray(formula(op.expand, op.arity)(*values))
        assert (spelt.dtype, spelt.shape) == (meant.dtype, meant.shape)
        np.testing.assert_array_equal(spelt, meant)
        numbers = ~np.isnan(meant)
        np.testing.assert_array_equal(np.signbit(spelt[numbers]), np.signbit(meant[numbers]))
