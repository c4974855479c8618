"""Names that the examples in docstrings may use without importing them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace: dict[str, object], tmp_path: Path) -> None:
    """Adds `tfr`, `np`, `math` and `folder` (an empty one) to the namespace of every doctest of the package."""
    doctest_namespace.update(tfr=tfr, np=np, math=math, folder=tmp_path)
