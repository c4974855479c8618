"""How much: a little in every run of the tests, all of it with STRESS=1, as `nox -s stress` sets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tensorframe as tfr

ROOT = Path(__file__).parents[2]
IS_FULL = bool(os.environ.get("STRESS"))
DEVICES = [
    name for name in ("cpu", "numpy", "llvm", "opencl", "wgpu") if name in tfr.backends.available()
]
on_each_device = pytest.mark.parametrize("device", DEVICES)


def on_some_devices(*names, more=()):
    """In every run of the tests on these devices, at full size on each, and on `more`."""
    known = [*DEVICES, *[name for name in more if name in tfr.backends.available()]]
    return pytest.mark.parametrize("device", [name for name in known if IS_FULL or name in names])


def scale(quick, full):
    return full if IS_FULL else quick


def program(name, *arguments, timeout=600):
    """Return what a program of this folder printed; it must end well."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"tests.stress.{name}", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
