"""Memory that NumPy or SciPy may not write to: their errors, and what helps below them."""

import subprocess
import sys

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.notebook.read_only import ADVICE, is_refused
from tests.notebook.shells import ROOT, environment_of_users, run_in_kernel, traceback_of

SETUP = """
import numpy as np
import tensorframe as tfr
from scipy import signal
sections = tfr.asarray(signal.butter(3, 0.2, output="sos"))
values = tfr.linspace(0.0, 1.0, 20, dtype="float64")
"""
WRITES = "signal.sosfilt(sections, values)"
HELPS = "signal.sosfilt(np.array(sections), values)"


def shown_by_a_script(*lines):
    done = subprocess.run(
        [sys.executable, "-c", SETUP + "\n".join(lines)],
        env=environment_of_users() | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_a_script_that_ends_with_the_error_says_what_helps():
    pytest.importorskip("scipy")
    shown = shown_by_a_script(WRITES)
    assert "ValueError: buffer source array is read-only\n" in shown
    assert shown.endswith(ADVICE)


@pytest.mark.parametrize(
    "lines",
    [
        [HELPS],
        ["try:", f"    {WRITES}", "except ValueError:", "    pass"],
        [HELPS, "raise ValueError('of mine')"],
    ],
    ids=["what it says", "caught", "another error"],
)
def test_a_script_that_does_not_says_nothing(lines):
    pytest.importorskip("scipy")
    assert ADVICE not in shown_by_a_script(*lines)


def test_a_cell_says_so_below_its_traceback():
    pytest.importorskip("scipy")
    _, broken, fine, other = run_in_kernel(SETUP, WRITES, HELPS, "raise ValueError('of mine')")
    assert "buffer source array is read-only" in traceback_of(broken)
    assert [one.text for one in broken if one.output_type == "stream"] == [ADVICE]
    assert "stream" not in {one.output_type for one in (*fine, *other)}


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.asarray(x).sort(),
        lambda x: x.numpy().fill(0),
        lambda x: np.asarray(x).__setitem__(0, 1),
        lambda x: np.random.default_rng(0).standard_normal(out=np.asarray(x)),
        lambda x: np.add(1, 2, out=np.asarray(x)),
        lambda x: np.copyto(np.asarray(x), 1),
    ],
    ids=["sort", "fill", "assign", "random", "ufunc", "copyto"],
)
def test_errors_of_numpy_are_recognised(write):
    x = tfr.asarray([2.0, 1.0], dtype="float64")
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - each has words of its own
        write(x)
    assert is_refused(caught.value)
    assert x.tolist() == [2.0, 1.0]


def test_other_errors_are_not():
    with pytest.raises(tfr.errors.ArgumentError) as ours:
        tfr.asarray([1.0], copy=False)
    assert not is_refused(ours.value)
    assert not any(map(is_refused, (None, ValueError("too large"), KeyError("read-only"))))
