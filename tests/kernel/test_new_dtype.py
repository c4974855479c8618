"""A new dtype in memory is one record: a program that adds two runs them on every device, and few files name any."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tensorframe.dtypes import NARROW
from tests.backends.devices import FOUND

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("device", ["numpy", "llvm", *FOUND])
def test_a_record_is_all_that_a_dtype_takes(device):
    program = [sys.executable, "-W", "error", "-m", "tests.kernel.new_dtypes", device]
    done = subprocess.run(program, cwd=ROOT, check=False, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-2000:]


@pytest.mark.parametrize("dtype", sorted(map(str, NARROW)))
def test_at_most_twelve_files_name_a_dtype(dtype):
    """Its record, its public name, and those whose hardware or library has it."""
    paths = [*(ROOT / "tensorframe").rglob("*.py"), *(ROOT / "tensorframe").rglob("*.pyi")]
    named = [
        path.name
        for path in paths
        if dtype in path.read_text(encoding="utf-8") and dtype in words(path)
    ]
    assert {"formats.py", "scalar_types.py"} <= set(named)
    assert len(named) <= 12, named


@cache
def words(path):
    """All words of a module's code: names, and those of texts that are not documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {ast.get_docstring(one, clean=False) for one in ast.walk(tree) if documents(one)}
    found = set()
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value not in said:
            found |= {
                part for word in re.findall(r"\w+", one.value) for part in (word, *parts(word))
            }
        for field in ("id", "attr", "name", "arg"):
            found |= {getattr(one, field, None)}
    return found


def documents(node):
    return isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))


def parts(word):
    return word.split("_")
