"""Editors and type checkers see every public name, whether it is written or generated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorframe.testing import stubs

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("typed_program.py")


@pytest.mark.parametrize("path", stubs.stubs(), ids=lambda path: path.name)
def test_stub_is_up_to_date(path):
    written = path.read_text(encoding="utf-8")
    assert written == stubs.stubs()[path], "run: python -m tensorframe.testing.stubs"


@pytest.mark.parametrize("path", stubs.stubs(), ids=lambda path: path.name)
def test_no_real_code_hides_behind_a_stub(path):
    source = path.with_suffix(".py").read_text(encoding="utf-8")
    assert "def " not in source


def test_type_checker_accepts_the_program_of_a_user(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", PROGRAM]
    cache = ["--cache-dir", ROOT / ".mypy_cache" / "typed_program"]
    done = subprocess.run(
        [*command, *cache],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    # what mypy says about the package itself is the business of the session `typecheck`
    wrong = [line for line in done.stdout.splitlines() if PROGRAM.name in line]
    assert not wrong, "\n".join(wrong)
    assert done.returncode in (0, 1), done.stderr


def test_the_program_of_a_user_runs():
    done = subprocess.run(
        [sys.executable, PROGRAM],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
