"""What the tests of other libraries share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def evaluate():
    """Evaluates expressions on arrays and on tensors where the array API of SciPy is switched on."""

    def run(setup, expressions):
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("evaluate.py")],
            input=json.dumps({"setup": setup, "expressions": expressions}),
            env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
