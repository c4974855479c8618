"""The table of ops: every name is defined once, and an interrupt while a module is imported does no harm."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tensorframe.graph.op import find, register
from tests.backends.test_kernel_cache import ROOT

INTERRUPTED = """
import tensorframe as tfr
from tensorframe.ops import elementwise

core, rows = elementwise.core, []

def interrupted(*given, **facts):
    rows.append(given)
    if len(rows) == 3:
        raise KeyboardInterrupt
    return core(*given, **facts)

elementwise.core = interrupted
try:
    tfr.special.polygamma
except KeyboardInterrupt:
    elementwise.core = core
    x = tfr.asarray([1.0, 2.0], dtype=tfr.float64)
    slope = tfr.grad(lambda x: tfr.special.digamma(x).sum())(x)
    print(len(rows), (slope == tfr.special.polygamma(1, x)).tolist())
"""


def test_a_name_is_defined_once():
    row = find("sin")
    with pytest.raises(ValueError, match="op 'sin' is defined twice"):
        register(replace(row, doc="Another function."))
    assert find("sin") is row


def test_a_module_whose_import_was_interrupted_is_imported_again():
    """Special functions were lost until the process ended: their rows were there, and the module was not."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "3 [True, True]\n"
