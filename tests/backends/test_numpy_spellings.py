"""The table of modules that spell ops: it says of each op which module does, so that no other is imported for it."""

import json
import subprocess
import sys

from tensorframe.backends.numpy.spellings import MODULES, MODULES_OF_KINDS

SPELT = """
import json, pkgutil, sys
from importlib import import_module
import tensorframe.backends.numpy as package
from tensorframe.backends.numpy import functions

found, spells = {}, functions.spells

def noting(name, **options):
    found[name] = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    return spells(name, **options)

assert not functions.FUNCTIONS, "nothing is spelt before it is asked for"
functions.spells = noting
for module in pkgutil.iter_modules(package.__path__):
    before = set(functions.MADE)
    import_module(f"{package.__name__}.{module.name}")
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
